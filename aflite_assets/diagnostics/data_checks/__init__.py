"""Checks that a dataset is suitable for filtering. The checks run on raw tables, before any filtering. Statistics about
the effects of filtering are in `evidence`.
"""
