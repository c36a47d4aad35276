"""Word numbers, word vectors and padded batches, for models that read texts as words. The package `text` handles word
pieces.
"""
