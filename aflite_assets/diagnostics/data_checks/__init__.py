"""Checks of whether a dataset is suitable for filtering; they run on the raw table before any filtering.

Statistics about the effects of filtering are in `evidence`.
"""
