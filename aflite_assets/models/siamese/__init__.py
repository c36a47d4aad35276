"""Siamese models: one small network reads each text separately, and then the two texts are compared. Words and vectors
are defined in the package `words`.
"""
