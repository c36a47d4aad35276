"""Readers of file formats: tables and folders of images. `raw_table` determines the meaning of the columns."""
