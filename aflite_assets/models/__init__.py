"""Encoders, evaluators, and the trainer of all neural models. The package `data` reads the rows, and the package
`results` publishes what models return.
"""
