"""Stages of the group `warmup`: the rows spent on encoders, and the encoders."""
