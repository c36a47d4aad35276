"""Arguments and printed text of the command `aflite`.

The computations of the commands are in the packages `stages`, `refresh` and `results`.
"""
