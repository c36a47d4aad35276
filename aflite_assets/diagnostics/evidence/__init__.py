"""Statistics that distinguish removed from kept rows. Checks before filtering: `data_checks`."""
