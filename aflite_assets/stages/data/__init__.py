"""Stages of the group `data`: the raw table and the challenge sets."""
