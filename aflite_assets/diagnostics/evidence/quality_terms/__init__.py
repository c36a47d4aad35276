"""Terms of the Data Quality Index: items of texts by number, formulas of terms, sets of one size. No models."""
