"""The command `aflite scan`: reading of data files that have no YAML file, and printing of the result. The package
`scan` contains the scan itself.
"""
