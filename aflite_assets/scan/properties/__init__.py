"""Properties by kind of input: texts, pairs, images, table columns, and what all rows have. No tests, no labels."""
