"""Word numbers, word vectors and padded batches, for models that read texts as words. Word pieces are in the package
`text`.
"""
