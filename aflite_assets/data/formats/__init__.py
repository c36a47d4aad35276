"""Readers of file formats: tables, feature files and folders of images. The package `raw_table` interprets the columns
that these readers return.
"""
