"""Datasets of the Hugging Face hub: commits, downloads, caches, columns. Other sources: `formats`, `synthetic`."""
