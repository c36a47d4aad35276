"""Transformers that classify texts: pretrained or made small, and their tokens. Training: `training`."""
