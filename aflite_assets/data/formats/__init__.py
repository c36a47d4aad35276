"""Readers of file formats: tables and folders of images. What columns mean is decided in `raw_table`."""
