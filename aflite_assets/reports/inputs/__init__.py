"""What a report is made from: records, checked when made, and the papers' own numbers. Accuracies: `scores`."""
