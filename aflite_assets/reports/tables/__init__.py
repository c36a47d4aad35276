"""The report's tables as records. HTML, JSON and Markdown of them are in `page`."""
