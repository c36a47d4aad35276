"""Datasets generated from a seed, with planted shortcuts. No files are read."""
