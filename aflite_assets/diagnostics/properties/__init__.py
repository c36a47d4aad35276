"""Properties that a person could name for each row, and how they are associated with the label; no models are used."""
