"""Published pages: the report as HTML, JSON and Markdown, and the dataset card.

The package `tables` makes the tables, and the package `figures` makes the figures.
"""
