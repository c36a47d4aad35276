"""Stages of the asset group `evaluation`: the grid of evaluators, and statistics of kept and removed rows."""
