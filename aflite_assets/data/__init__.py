"""Conversion of a dataset's source to rows: file formats, the hub, synthetic data and the raw table."""
