"""Statistics that distinguish removed from kept rows. Checks before filtering are in `data_checks`."""
