"""The trainer of all neural models, with batches, early stopping, checkpoints, memory and predictions. The trainer does
not depend on any architecture.
"""
