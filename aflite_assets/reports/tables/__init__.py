"""The report's tables as records. How they are written down: `page`."""
