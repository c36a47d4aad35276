"""Results in a folder: renaming, setting aside, and whether locks hold between the machines that share it."""
