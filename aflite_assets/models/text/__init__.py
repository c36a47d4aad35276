"""Transformers that classify texts, pretrained or small and new, and their tokens. Training is in `training`."""
