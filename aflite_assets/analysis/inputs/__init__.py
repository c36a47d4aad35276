"""Records of what an analysis reads: test sets, trained cells, filtered sets; checked when made. No statistics."""
