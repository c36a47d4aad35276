"""Records of the inputs of an analysis: test sets, training runs and filtered sets.

The records check their values when they are created. No statistics are computed here.
"""
