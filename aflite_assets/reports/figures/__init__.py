"""Pictures from tables and records, as PNG or plotly data. Pages are in `page`, statistics in `scores`."""
