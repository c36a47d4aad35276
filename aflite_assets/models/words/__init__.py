"""Texts as words: their numbers, vectors and padded batches, for models that read words. Word pieces are in `text`."""
