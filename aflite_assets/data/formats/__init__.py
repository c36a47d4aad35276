"""Readers of file formats: tables and folders of images. The meaning of columns is decided in `raw_table`."""
