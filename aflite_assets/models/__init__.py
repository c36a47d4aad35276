"""Encoders and evaluators, and the trainer that both share. The package `data` reads data, and the package `results`
publishes results.
"""
