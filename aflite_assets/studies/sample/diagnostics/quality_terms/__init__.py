"""Terms of the Data Quality Index: numbering of words and word sequences, formulas, and comparison of
equal-sized sets.
"""
