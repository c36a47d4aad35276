"""Datasets generated from a seed, with planted shortcuts. Reads no files."""
