"""Rules that turn numbers into statements: when a difference is reported, how much data a decision needs, and the
verdict on a dataset.
"""
