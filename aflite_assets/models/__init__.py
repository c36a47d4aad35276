"""Encoders and evaluators, and the trainer they share. Data is read in `data`, results are published by `results`."""
