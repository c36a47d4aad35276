"""Stages of the group `warmup`: the rows used to train the encoders, and the trained encoders."""
