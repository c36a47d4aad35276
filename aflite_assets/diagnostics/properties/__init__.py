"""Properties of rows that a person can name, and their association with the label."""
