"""Pictures from tables and records, as PNG or as data for a script. Pages are in `page`, statistics in `scores`."""
