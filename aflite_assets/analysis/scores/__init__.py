"""From predictions to accuracies by test set and part. Differences of two trainings are in `comparisons`."""
