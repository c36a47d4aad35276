"""Files as they are written: tables and folders of images. What columns mean is decided in `raw_table`."""
