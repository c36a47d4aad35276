"""Published pages: HTML, JSON, Markdown and the dataset card. Numbers and tables come from the other folders."""
