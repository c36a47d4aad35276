"""Results in a folder. Results are published and set aside by renaming their folders, and a check finds whether locks
work between machines.
"""
