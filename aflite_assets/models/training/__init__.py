"""The one trainer of all neural models: batches, stopping, checkpoints, memory, predictions. It knows no
architecture.
"""
