"""Rules on numbers: when a difference is reported as one, what is enough for a decision, and the verdict on a
dataset.
"""
