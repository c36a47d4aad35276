"""Pictures from tables and records, as PNG or plotly data. No page's layout and no statistics."""
