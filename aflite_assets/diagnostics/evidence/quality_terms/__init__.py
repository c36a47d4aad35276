"""Terms of the Data Quality Index: numbering of words and word sequences, formulas of the terms, and comparison of sets
of the same size. No models are used.
"""
