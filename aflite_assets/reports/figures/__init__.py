"""Pictures of tables and records, as PNG or as data for a script. Pages are made in `page`, and statistics in
`scores`.
"""
