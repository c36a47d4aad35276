"""Arguments and printed text of the command `aflite`. The packages `stages`, `refresh` and `results` compute the
numbers.
"""
