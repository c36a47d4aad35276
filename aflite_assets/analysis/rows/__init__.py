"""Single rows: the table of all rows, and measurements of them, but no words. Readers of stored results are in
`stages`.
"""
