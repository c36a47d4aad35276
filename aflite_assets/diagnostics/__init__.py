"""Statistics about data before and after filtering, as plain functions on rows. The package draws no figures."""
