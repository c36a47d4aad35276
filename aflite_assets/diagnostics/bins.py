"""Bins of numeric values, with edges at quantiles, and the names of the bins."""

from itertools import pairwise

import numpy as np

BINS = 8
"""Largest number of bins for a numeric property."""


def bin_edges(values: np.ndarray) -> np.ndarray:
    """Return the upper edges of all bins except the last bin; edges are quantiles, and there are at most `BINS` bins.

    NaN is ignored.
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros(0)
    edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS, method="inverted_cdf"))
    return np.asarray(edges[edges < known.max()])


def binned(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the name of each value's bin, such as "at most 4", "over 4 to 9" or "over 9"; the name for NaN is "none".

    The names are texts of dtype object.
    """
    if not len(edges):
        return np.where(np.isnan(values), "none", "any").astype(object)
    texts = [f"{edge:.6g}" for edge in edges]
    between = [f"over {low} to {high}" for low, high in pairwise(texts)]
    names = np.array([f"at most {texts[0]}", *between, f"over {texts[-1]}", "none"], dtype=object)
    return np.asarray(names[np.where(np.isnan(values), len(names) - 1, np.searchsorted(edges, values, side="left"))])
