"""Data maps: confidence, variability and correctness of the predictions for each row during training."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from aflite_assets.errors import InvalidInputError

DATA_MAP = pa.schema(
    [
        ("row_id", pa.int64()),
        ("confidence", pa.float64()),
        ("variability", pa.float64()),
        ("correctness", pa.float64()),
    ]
)
"""Columns of `data_map`."""


def data_map(dynamics: Sequence[pa.Table]) -> pa.Table:
    """Compute the data map of Swayamdipta et al. 2020 (section 2) for every train row, averaged over training runs.
    Confidence is the mean probability of the row's label over the epochs of a training run. Variability is the
    population standard deviation of the label's probability over the epochs. Correctness is the share of epochs in
    which the label was predicted.

    In each epoch, probabilities are recorded with dropout, just before the model is updated with the row. The paper
    instead evaluates all rows at the end of an epoch.

    Args:
        dynamics: one table per training run with the columns `row_id` (int64), `epoch` (int64), `label_probability`
            (float in [0, 1]) and `correct` (bool). Training runs may differ in rows and epochs.

    Returns:
        A table with the columns `row_id` (ascending), `confidence` in [0, 1], `variability` in [0, 0.5] and
        `correctness` in [0, 1].

    Raises:
        InvalidInputError: a row does not occur exactly once per epoch of a training run.
    """
    ids = np.unique(np.concatenate([np.empty(0, np.int64), *(one["row_id"].to_numpy() for one in dynamics)]))
    sums, trainings = np.zeros((3, len(ids))), np.zeros(len(ids))
    for number, one in enumerate(dynamics):
        epochs = len(np.unique(one["epoch"].to_numpy()))
        rows, places, times = np.unique(one["row_id"].to_numpy(), return_inverse=True, return_counts=True)
        if (times != epochs).any():
            odd = int((times != epochs).argmax())
            raise InvalidInputError(
                f"row {rows[odd]} occurs {times[odd]} times in the {epochs} epochs of training {number}; give each "
                "row once per epoch"
            )
        order = np.argsort(places, kind="stable")
        probability = one["label_probability"].to_numpy().astype(np.float64)[order].reshape(-1, max(epochs, 1))
        correct = one["correct"].to_numpy(zero_copy_only=False).astype(np.float64)[order].reshape(-1, max(epochs, 1))
        inside = np.searchsorted(ids, rows)
        sums[:, inside] += [probability.mean(axis=1), probability.std(axis=1), correct.mean(axis=1)]
        trainings[inside] += 1
    means = sums / trainings
    return pa.table([ids, *means], DATA_MAP)
