"""Encoders, evaluators, and the trainer that both share. The package `data` reads the data, and the package `results`
publishes the results.
"""
