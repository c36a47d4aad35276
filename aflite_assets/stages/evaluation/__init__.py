"""Stages of the group `evaluation`: the grid of evaluators, and statistics about kept and removed rows."""
