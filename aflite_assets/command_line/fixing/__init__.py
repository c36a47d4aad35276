"""The command `aflite fix`: code that finds the source of the scanned rows and prints the result.

The package `aflite_assets.fixing` plans and writes the changes.
"""
