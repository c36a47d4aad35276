"""What is known of single rows: the table of all rows, and measurements of them; no words. Readers are in `stages`."""
