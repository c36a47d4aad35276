"""From predictions to accuracies by test set and part. Differences between two trainings are in `comparisons`."""
