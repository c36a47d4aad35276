"""Stages of the group `filtering`: the filter, the control sets, and the published dataset."""
