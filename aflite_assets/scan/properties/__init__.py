"""Properties of rows, by kind of input: texts, pairs of texts, images, table columns, and inputs of any kind.

This package reads no labels and runs no tests.
"""
