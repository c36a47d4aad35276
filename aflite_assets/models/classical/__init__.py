"""Evaluators that are fitted with scikit-learn, and the matrices that they are fitted on. The other folders hold the
neural models.
"""
