"""Properties that a person could name for each row, and how they go with the label; models are not asked here."""
