"""Settings of the study in a dataset's YAML file; nothing here reads rows."""
