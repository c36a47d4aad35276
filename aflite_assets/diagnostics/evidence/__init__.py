"""What distinguishes removed from kept rows, as statistics. Checks before filtering: `data_checks`."""
