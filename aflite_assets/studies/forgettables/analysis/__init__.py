"""Numbers of the study: its tables, and what it adds to the scores, differences, rows and facts of the core."""
