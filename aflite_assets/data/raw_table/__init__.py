"""Conversion of a source's tables to the raw table, which has fixed columns for inputs, labels, groups and annotators.
No source is read here.
"""
