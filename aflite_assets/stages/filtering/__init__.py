"""Stages of the group `filtering`: the loop, the controls, and the resulting dataset."""
