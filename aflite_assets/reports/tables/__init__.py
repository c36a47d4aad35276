"""The report's tables as records: one table of all scores, and a file per table that shows some of them. Tables are
drawn in `page`.
"""
