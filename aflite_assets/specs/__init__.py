"""What a dataset's YAML file may say, and the registry of those found. Opens no data."""
