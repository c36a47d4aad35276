"""Statistics that distinguish removed from kept rows. Checks of data before filtering are in `data_checks`."""
