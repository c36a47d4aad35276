"""Pictures of tables and records, as PNG or as data for a script.

Pages are rendered in `page`, and statistics are computed in `scores`.
"""
