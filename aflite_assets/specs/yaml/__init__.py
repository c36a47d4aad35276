"""Reading of a dataset's YAML file: safe loading, variables, checks, error messages and the JSON schema. No data are
opened.
"""
