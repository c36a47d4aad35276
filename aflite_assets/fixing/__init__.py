"""Cleaned copies of a source in which a cue of the scan tells nothing. Arguments are in `command_line.fixing`.

`scan.remedies` says which remedy mends which kind of cue.
"""
