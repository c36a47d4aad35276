"""Results in a folder: renaming, setting aside, and a check whether locks work between the machines that share the
folder.
"""
