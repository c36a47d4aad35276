"""The report's tables as records: one table of all scores, and a file per table that shows some of them. They are drawn
in `page`.
"""
