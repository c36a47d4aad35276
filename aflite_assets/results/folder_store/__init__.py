"""Results in a folder: publishing and setting aside by renaming, and a check whether locks work between machines."""
