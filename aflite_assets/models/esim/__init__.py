"""ESIM: a model that reads pairs of texts with LSTMs and lets each text attend to the other. Words and their vectors
are defined in the package `words`.
"""
