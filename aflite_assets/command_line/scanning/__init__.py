"""The command `aflite scan`: files without a YAML file, and printed text. The scan itself is in `scan`."""
