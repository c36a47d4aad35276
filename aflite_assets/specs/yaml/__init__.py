"""Reading of a dataset's YAML file: safe loading, variables, checks, error messages and the JSON schema. This package
opens no data.
"""
