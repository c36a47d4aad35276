"""Conversion of a source's tables to the raw table.

The raw table has fixed columns for inputs, labels, groups and annotators.
"""
