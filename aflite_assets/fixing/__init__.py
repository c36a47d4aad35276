"""Cleaned copies of a source. In a cleaned copy, a cue that the scan found no longer predicts the label.

The package `command_line.fixing` handles the command-line arguments. The module `scan.remedies` lists the remedies for
each kind of cue.
"""
