"""Evaluators from scikit-learn, and the matrices on which they are fitted. The other folders contain neural models."""
