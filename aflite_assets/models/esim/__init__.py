"""ESIM: a model of text pairs that reads texts with LSTMs and lets each text attend to the other text. The package
`words` defines words and word vectors.
"""
