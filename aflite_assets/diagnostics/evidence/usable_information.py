"""Pointwise V-information (PVI): the bits of information that a row's input gives a model about the row's label."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from aflite_assets.diagnostics.evidence.kept_vs_removed import side_means
from aflite_assets.diagnostics.record_tables import table_of
from aflite_assets.errors import InvalidInputError

_LEAST = float(np.finfo(np.float32).tiny)
"""Value used for a probability that float32 rounded to zero."""

_MEANS = pa.schema(
    [
        ("evaluator", pa.string()),
        ("test_set", pa.string()),
        ("label_name", pa.string()),
        ("kept_rows", pa.int64()),
        ("kept_mean", pa.float64()),
        ("removed_rows", pa.int64()),
        ("removed_mean", pa.float64()),
    ]
)


def pointwise_information(label_probability: np.ndarray, labels: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the pointwise V-information of each row in bits: log2 p(y | x) - log2 p(y | no input).

    The source is Ethayarajh, Choi, Swayamdipta 2022, section 3. For p(y | no input), the paper trains a second model on
    empty inputs. Here p(y | no input) is the share of the label y among the train rows.

    A model without input predicts the same distribution for every row, and the label shares have the least
    cross-entropy on the train rows. As the best such distribution, the label shares are the infimum in the paper's
    definition 1. A trained model with only one intercept per class would predict these shares, apart from noise of the
    optimiser.

    Args:
        label_probability: the model's probability of each row's own label, in [0, 1]; a float32 value of 0 is replaced
            by the smallest normal number, 2**-126.
        labels: class numbers, int64.
        shares: the share of each class among the train rows.

    Returns:
        float64, one per row; NaN for a class without train rows.

    Raises:
        InvalidInputError: `label_probability` and `labels` have different lengths, or a value is not a probability.
    """
    if len(label_probability) != len(labels):
        raise InvalidInputError(
            f"there are {len(label_probability)} probabilities for {len(labels)} labels; give one probability per label"
        )
    if len(label_probability) and not (label_probability.min() >= 0 and label_probability.max() <= 1 + 1e-6):
        raise InvalidInputError(
            f"`label_probability` ranges from {label_probability.min()} to {label_probability.max()}; give values in "
            "[0, 1]"
        )
    with np.errstate(divide="ignore"):
        without = np.log2(shares.astype(np.float64))
    with_input = np.log2(np.clip(label_probability.astype(np.float64), _LEAST, 1))
    known = shares[labels] > 0
    return np.where(known, with_input - np.where(known, without[labels], 0), np.nan)


def mean_information(
    values: Mapping[tuple[str, str], tuple[np.ndarray, np.ndarray, np.ndarray]], label_names: Sequence[str]
) -> pa.Table:
    """Compute the mean pointwise V-information of the kept and of the removed rows, by class.

    Args:
        values: three arrays for each pair (evaluator, test set), with one entry per row. The arrays contain the
            pointwise V-information (float; NaN is left out), the label (int64), and a bool, True if the row was kept.
        label_names: the classes' names.

    Returns:
        A table with the columns `evaluator`, `test_set`, `label_name`, `kept_rows`, `kept_mean`, `removed_rows` and
        `removed_mean`. A mean is null if there are no rows. The table's first row is for all classes and has a null
        `label_name`.
    """
    records = []
    for (evaluator, test_set), (information, labels, kept) in values.items():
        known = ~np.isnan(information)
        inside = [(None, known), *((name, known & (labels == label)) for label, name in enumerate(label_names))]
        for name, rows in inside:
            if rows.any():
                here, gone, kept_rows, removed_rows = side_means(information, rows, kept)
                records.append((evaluator, test_set, name, kept_rows, here, removed_rows, gone))
    return table_of(records, _MEANS)
