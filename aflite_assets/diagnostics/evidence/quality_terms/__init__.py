"""Terms of the Data Quality Index: numbered items of texts, formulas of terms, and sets of one size. No models are
used.
"""
