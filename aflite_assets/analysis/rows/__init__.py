"""Data about single rows: the table of all rows, and statistics of rows. Sentences are not made here. Functions that
read stored results are in `stages`.
"""
