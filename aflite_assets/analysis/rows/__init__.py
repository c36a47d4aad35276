"""Single rows: the table of all rows, and measurements of them; no words. Readers of stored results are in `stages`."""
