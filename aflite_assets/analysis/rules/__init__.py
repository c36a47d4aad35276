"""Rules that turn numbers into statements: conditions for reporting a difference, the amount of data that a decision
needs, and the verdict on a dataset.
"""
