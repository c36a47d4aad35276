"""Datasets that are made from a seed, with planted shortcuts. Nothing here reads a file of the user's."""
