"""Checks that a dataset is suitable for filtering, which run on the raw table before any filtering.

Statistics about the effects of filtering are in `evidence`.
"""
