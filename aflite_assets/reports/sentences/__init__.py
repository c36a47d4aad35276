"""What the numbers say in words, with warnings. Computes no scores and lays out no page."""
