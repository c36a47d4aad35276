"""Readers of file formats: tables, feature files and folders of images. `raw_table` interprets their columns."""
