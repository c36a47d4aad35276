"""Data about single rows: the table of all rows, and statistics of rows. The functions that read stored results are in
`stages`.
"""
