"""Datasets of the Hugging Face hub: commits, downloads, caches and columns. Other sources are beside this package."""
