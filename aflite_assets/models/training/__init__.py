"""The one trainer of all neural models: batches, stopping, checkpoints, memory, predictions. The trainer knows no
architecture.
"""
