"""The trainer that all neural models share: batches, early stopping, checkpoints, memory and predictions. The trainer
does not depend on any architecture.
"""
