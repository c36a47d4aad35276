"""Conversion of a source's tables to the raw table of the contract: labels, columns, groups, annotators. No source is
read here.
"""
