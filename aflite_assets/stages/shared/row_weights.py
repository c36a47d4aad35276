"""Row weights, for training a model on all rows in place of only the rows that a filter kept."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WEIGHT_BOUNDS = (0.25, 4.0)
"""Bounds of a row's weight.

Every row has at least a quarter, so that it still contributes to training. No row has more than four, so that few rows
do not dominate a batch.
"""


def row_weights(label_probability: pa.ChunkedArray, labels: np.ndarray) -> pa.Array:
    """Return each row's weight: class share divided by label probability, clipped to `WEIGHT_BOUNDS` (float32). The
    weight is null if the row has no label probability.

    The weight is 1 if the label's probability equals the class share, so the features say nothing about the label. The
    weight is smaller if the features reveal the label, and larger if the features point to another label.

    If the probabilities are right and positive and no weight is clipped, the mean weight is 1 and weighting does not
    change the class shares. Under these conditions, the labels of the weighted rows are also independent of the
    classifiers' input.

    The method is reweighing (Kamiran and Calders 2012), with probabilities from classifiers in place of shares within
    groups. In statistics, the weight is called a stabilised inverse probability weight; Cole and Hernan (2008) also
    truncate weights.

    Args:
        label_probability: the mean held-out probability of each row's label in the first iteration, in [0, 1], or null.
        labels: class numbers, int64 from 0; class shares are computed over the rows that have a probability.
    """
    probability = pc.fill_null(label_probability.cast(pa.float64()), float("nan")).to_numpy()
    known = ~np.isnan(probability)
    shares = np.bincount(labels[known], minlength=int(labels.max(initial=0)) + 1) / max(known.sum(), 1)
    with np.errstate(divide="ignore"):
        weights = np.clip(shares[labels] / probability, *WEIGHT_BOUNDS)
    return pa.array(weights.astype(np.float32), mask=~known)


def weight_summary(weights: pa.Array) -> dict[str, float | None]:
    """Return the mean weight, and the share of weighted rows at each bound; without weights, the values are None."""
    least, most = WEIGHT_BOUNDS
    return {
        "mean": pc.mean(weights).as_py(),
        "share_at_least": pc.mean(pc.less_equal(weights, least)).as_py(),
        "share_at_most": pc.mean(pc.greater_equal(weights, most)).as_py(),
    }
