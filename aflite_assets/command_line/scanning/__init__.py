"""The command `aflite scan`: code that reads data files without a YAML file and prints the result.

The package `aflite_assets.scan` contains the algorithm of the scan.
"""
