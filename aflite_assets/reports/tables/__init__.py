"""The report's tables as records: one of all scores, and a file per table that shows some of them. Drawing: `page`."""
