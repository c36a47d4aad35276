"""The command `aflite fix`: finding the source of the scanned rows, and printing the result. The package `fixing` plans
the changes.
"""
