"""Conversion of a dataset's source to rows: file formats, the hub, synthetic data, the raw table, and the class
`Examples`.
"""
