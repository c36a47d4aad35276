"""Pictures that show tables and records, either as PNG files or as data for a script of the page.

The package `page` renders the page, and the package `scores` computes the statistics.
"""
