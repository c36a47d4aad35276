"""Siamese models: each text read apart by the same small network, then both compared. Words and vectors: `words`."""
