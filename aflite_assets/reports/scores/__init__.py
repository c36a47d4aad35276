"""From predictions to accuracies, intervals and verdicts: numbers alone. Their arrangement in tables: `tables`."""
