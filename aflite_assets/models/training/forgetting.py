"""Which train rows a training forgets, or never learns, from its dynamics; arrays alone. Recording them: `dynamics`."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.errors import InvalidInputError


@dataclass(frozen=True)
class Forgetting:
    """Forgetting of each train row over the epochs (Toneva et al. 2019; Yaghoobzadeh et al., EACL 2021, section 3).

    Arrays (rows,): `events` int64, in how many epochs the row was wrong after it had been right in the one before, 0 to
    half the epochs; `never_learnt` bool, right in no epoch, which is no event; `right` int64, in how many epochs;
    `first_learnt` int64, the first of these from 0, or -1.
    """

    events: np.ndarray
    never_learnt: np.ndarray
    right: np.ndarray
    first_learnt: np.ndarray

    @property
    def forgettable(self) -> np.ndarray:
        """Bool: forgotten at least once or never learnt."""
        return (self.events > 0) | self.never_learnt

    def histogram(self) -> dict[str, int]:
        """Rows by events, "0", "1", ...; those never learnt apart (Figure 1)."""
        counts = np.bincount(self.events[~self.never_learnt], minlength=1)
        return {str(events): int(rows) for events, rows in enumerate(counts)} | {
            "never_learnt": int(self.never_learnt.sum())
        }


def forgetting(correct: np.ndarray) -> Forgetting:
    """Count over the presentations of each row: `correct` epochs x rows bool, whether the label had the highest logit.

    Raises:
        InvalidInputError: there is no epoch, or `correct` is no matrix of bools.
    """
    if correct.ndim != 2 or correct.dtype != np.bool_ or not len(correct):
        raise InvalidInputError(
            f"correct must be bool, epochs x rows with at least one epoch; received {correct.dtype} {correct.shape}"
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
    """Return a column of `DynamicsRecorder.table`, whose rows are sorted by epoch and then by row, as epochs x rows."""
    values: np.ndarray = column.to_numpy()
    return values.reshape(epochs, -1)
