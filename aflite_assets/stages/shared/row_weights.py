"""Weights of rows by which a model is trained on all of them instead of on what a filter kept."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WEIGHT_BOUNDS = (0.25, 4.0)
"""Least and most a row may weigh: a quarter, so that every row still teaches, and four, so that few rule no batch."""


def row_weights(label_probability: pa.ChunkedArray, labels: np.ndarray) -> pa.Array:
    """Class share / label probability, clipped to `WEIGHT_BOUNDS`; float32, null where there is no probability.

    1 is a row about whose label the features say as much as the class's share does, less one that they give away, more
    one that they mislead about. But for the clipping, and where the probabilities are right and no label impossible,
    weighted rows have a mean of 1, their classes' shares, and labels that do not depend on what the classifiers see.
    This is reweighing (Kamiran and Calders 2012) with the classifiers' probability in place of a share counted per
    group; in statistics a stabilised inverse probability weight, which Cole and Hernan (2008) truncate likewise.

    Args:
        label_probability: per row the first iteration's mean held-out probability of its own label, in [0, 1], or null.
        labels: the classes, rows int64 from 0; shares are taken over the rows that have a probability.
    """
    probability = pc.fill_null(label_probability.cast(pa.float64()), float("nan")).to_numpy()
    known = ~np.isnan(probability)
    shares = np.bincount(labels[known], minlength=int(labels.max(initial=0)) + 1) / max(known.sum(), 1)
    with np.errstate(divide="ignore"):
        weights = np.clip(shares[labels] / probability, *WEIGHT_BOUNDS)
    return pa.array(weights.astype(np.float32), mask=~known)


def weight_summary(weights: pa.Array) -> dict[str, float | None]:
    """Return the mean weight and the shares of weighted rows at either bound; None each without weights."""
    least, most = WEIGHT_BOUNDS
    return {
        "mean": pc.mean(weights).as_py(),
        "share_at_least": pc.mean(pc.less_equal(weights, least)).as_py(),
        "share_at_most": pc.mean(pc.greater_equal(weights, most)).as_py(),
    }
