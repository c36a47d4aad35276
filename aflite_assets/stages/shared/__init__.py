"""Helpers that several stages share: readers of published results, content hashes, sizes and train sets.

Stages themselves are defined in the other folders of `stages`.
"""
