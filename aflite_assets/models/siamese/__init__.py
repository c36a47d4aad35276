"""Siamese models: the same small network reads each text separately, then both texts are compared. Words and vectors
are in `words`.
"""
