"""Pages that are published to read: HTML, JSON, Markdown, the card. Numbers and tables come from the other rooms."""
