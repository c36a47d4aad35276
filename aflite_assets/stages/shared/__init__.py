"""Parts that several stages need: readers of published results, content hashes, sizes and train sets. No stage is
defined here.
"""
