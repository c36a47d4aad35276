"""Published pages: the report as HTML, JSON and Markdown, and the dataset card. The other folders of this package make
the numbers and tables.
"""
