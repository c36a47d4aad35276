"""Train rows that a model forgets or never learns, computed from training dynamics. The module `dynamics` records the
dynamics.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.errors import InvalidInputError


@dataclass(frozen=True)
class Forgetting:
    """Forgetting of each train row over the epochs (Toneva et al. 2019; Yaghoobzadeh et al., EACL 2021, section 3).

    All arrays have the shape (rows,). `events` (int64): number of forgetting events, at most half of the epochs. In a
    forgetting event, the row is predicted correctly in one epoch and wrongly in the next. `never_learnt` (bool): True
    if the row was never predicted correctly. A row that was never learned has no forgetting events. `right` (int64):
    number of epochs in which the row was predicted correctly. `first_learnt` (int64): the first epoch with a correct
    prediction, counted from 0, or -1 if there is none.
    """

    events: np.ndarray
    never_learnt: np.ndarray
    right: np.ndarray
    first_learnt: np.ndarray

    @property
    def forgettable(self) -> np.ndarray:
        """Bool array that is True for rows that were forgotten at least once or never learned."""
        return (self.events > 0) | self.never_learnt

    def histogram(self) -> dict[str, int]:
        """Count rows by their number of forgetting events ("0", "1", ...), as in Figure 1 of Toneva et al. Rows that
        were never learned are counted separately.
        """
        counts = np.bincount(self.events[~self.never_learnt], minlength=1)
        return {str(events): int(rows) for events, rows in enumerate(counts)} | {
            "never_learnt": int(self.never_learnt.sum())
        }


def forgetting(correct: np.ndarray) -> Forgetting:
    """Count learning and forgetting for each row. `correct` (bool, epochs x rows) is True if the row's label had the
    highest logit in the epoch.

    Raises:
        InvalidInputError: there is no epoch, or `correct` is not a matrix of bools.
    """
    if correct.ndim != 2 or correct.dtype != np.bool_ or not len(correct):
        raise InvalidInputError(
            f"`correct` is an array of type {correct.dtype} and shape {correct.shape}; give a bool array, epochs x "
            "rows, with at least one epoch"
        )
    # Epoch by epoch, so that memory is for a few numbers per row however many epochs there are.
    events = np.zeros(correct.shape[1], np.int64)
    right = correct[0].astype(np.int64)
    first_learnt = np.where(correct[0], 0, -1)
    for epoch in range(1, len(correct)):
        events += correct[epoch - 1] & ~correct[epoch]
        right += correct[epoch]
        first_learnt[(first_learnt < 0) & correct[epoch]] = epoch
    return Forgetting(events, right == 0, right, first_learnt)


def epochs_by_rows(column: pa.ChunkedArray, epochs: int) -> np.ndarray:
    """Return a column of `DynamicsRecorder.table` as an array, epochs x rows. The table is sorted by epoch and then by
    row.
    """
    values: np.ndarray = column.to_numpy()
    return values.reshape(epochs, -1)
