"""Reading of a dataset's YAML file as text: safe loading, variables, checks, messages, schema. No data are opened."""
