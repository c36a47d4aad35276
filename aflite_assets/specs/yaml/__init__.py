"""Reading of a dataset's YAML file: safe loading, variables, checks, error messages and the JSON schema. No module of
this package reads a dataset's rows.
"""
