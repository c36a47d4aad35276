"""The pydantic models of a dataset's YAML file, and the registry of the files found. No data are opened here."""
