"""The command `aflite scan`: reading of data files that have no YAML file, and printing of the result.

The package `aflite_assets.scan` contains the algorithm of the scan.
"""
