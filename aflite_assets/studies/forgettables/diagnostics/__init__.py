"""Statistics of the study about forgettable rows."""
