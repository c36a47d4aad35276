"""Reading of the text of a dataset's YAML file: safe loading, variables, checks, messages, schema. No data are opened."""
