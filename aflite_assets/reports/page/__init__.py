"""What is published to read: HTML, JSON, Markdown, the card, tables as text. Numbers come from the other rooms."""
