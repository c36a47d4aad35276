"""The pydantic models of a dataset's YAML file, and the registry of the files found. Opens no data."""
