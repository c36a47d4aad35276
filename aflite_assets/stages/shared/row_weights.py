"""Weights of rows for training a model on all of them instead of on the rows that a filter kept."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WEIGHT_BOUNDS = (0.25, 4.0)
"""Bounds of a row's weight: at least a quarter, so that every row still teaches, and at most four, so that few rows do
not dominate a batch.
"""


def row_weights(label_probability: pa.ChunkedArray, labels: np.ndarray) -> pa.Array:
    """Return class share / label probability, clipped to `WEIGHT_BOUNDS`: float32, null without a probability.

    The weight is 1 if the features are as informative about the row's label as its class's share. The weight is less if
    the features give the label away, and more if they mislead about it. Suppose that the probabilities are right, no
    label is impossible and nothing is clipped. In this case, weighted rows have a mean weight of 1, their classes'
    shares, and labels that do not depend on what the classifiers see. The weights are reweighing (Kamiran and Calders
    2012) with the classifiers' probability instead of a share counted per group. In statistics it is a stabilised
    inverse probability weight, which Cole and Hernan (2008) also truncate.

    Args:
        label_probability: per row, the first iteration's mean held-out probability of its own label, in [0, 1], or
            null.
        labels: the classes, int64 from 0; class shares are taken over the rows that have a probability.
    """
    probability = pc.fill_null(label_probability.cast(pa.float64()), float("nan")).to_numpy()
    known = ~np.isnan(probability)
    shares = np.bincount(labels[known], minlength=int(labels.max(initial=0)) + 1) / max(known.sum(), 1)
    with np.errstate(divide="ignore"):
        weights = np.clip(shares[labels] / probability, *WEIGHT_BOUNDS)
    return pa.array(weights.astype(np.float32), mask=~known)


def weight_summary(weights: pa.Array) -> dict[str, float | None]:
    """Return the mean weight and the shares of weighted rows at each bound; all are None without weights."""
    least, most = WEIGHT_BOUNDS
    return {
        "mean": pc.mean(weights).as_py(),
        "share_at_least": pc.mean(pc.less_equal(weights, least)).as_py(),
        "share_at_most": pc.mean(pc.greater_equal(weights, most)).as_py(),
    }
