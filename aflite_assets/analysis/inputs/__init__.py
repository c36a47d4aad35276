"""Records of the inputs of an analysis: test sets, trained cells and filtered sets, which are checked when made. No
statistics are computed here.
"""
