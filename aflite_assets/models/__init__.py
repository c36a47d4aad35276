"""Encoders, evaluators, and the trainer that both share. The package `data` reads the rows, and the package `results`
publishes what models return.
"""
