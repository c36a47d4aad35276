"""Is this dataset fit to be filtered? Checks on raw tables, before any filter. What filtering did: `evidence`."""
