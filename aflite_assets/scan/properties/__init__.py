"""Properties by kind of input: texts, pairs, images, table columns, and properties of all rows.

This package reads no labels and runs no tests.
"""
