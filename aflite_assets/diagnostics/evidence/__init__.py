"""What marks the rows that went: statistics of kept and removed rows. Checks before filtering: `data_checks`."""
