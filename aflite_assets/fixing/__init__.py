"""Cleaned copies of a source, in which a cue found by the scan no longer predicts the label.

Command-line arguments are handled in `command_line.fixing`. The remedies for each kind of cue are in `scan.remedies`.
"""
