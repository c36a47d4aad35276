"""Statistics that compare removed and kept rows. Checks of the data before filtering are in `data_checks`."""
