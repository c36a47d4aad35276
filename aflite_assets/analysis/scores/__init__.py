"""Accuracies per test set and part of a test set, computed from predictions. Differences between two training runs are
in `comparisons`.
"""
