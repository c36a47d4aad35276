"""Checks of whether a dataset is fit to be filtered. The checks run on raw tables, before any filter. The effects of
filtering are in `evidence`.
"""
