"""Properties on which models may lean: the candidates, their train sets, and where they point on test rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.tidy import TidyTable

TrainSetName = Literal["tied", "independent"]
"""Random rows, which keep the tie, or as many of each class in which the property goes with no class."""

TRAIN_SETS: tuple[TrainSetName, ...] = ("tied", "independent")

SETS = pa.schema([("candidate", pa.int64()), ("name", pa.string()), ("training", pa.int64()), ("row_id", pa.int64())])
POINTED = pa.schema(
    [("candidate", pa.int64()), ("test_set", pa.string()), ("row_id", pa.int64()), ("points_to", pa.int64())]
)


@dataclass(frozen=True)
class Candidate:
    """A property that goes with the label on train rows.

    `kind`, `name` and `word` name it. `reason`: why it is no part of the task, if that is known: declared in the file,
    or an artefact by nature. `values` are those that point to a class, `points_to` these classes and `rows` the train
    rows with each. `overlap`, in [0, 1]: the share of the train rows that can be kept so that it goes with no class.
    """

    candidate: int
    kind: str
    name: str
    word: str
    reason: Literal["declared", "artefact"] | None
    values: tuple[str, ...]
    points_to: tuple[str, ...]
    rows: tuple[int, ...]
    p_value: float
    overlap: float


CANDIDATES = TidyTable("candidates", Candidate)


@dataclass(frozen=True, eq=False)
class LeaningInputs:
    """What is known of a candidate.

    `pointed`: per test set the class, of the dataset's, that each row's value points to (int64, -1 for none), in the
    order of the set; sets that lack the property are left out. `predicted`: by train set and test set the predictions
    of each training of `evaluator`, int64, of finished trainings. `too_few_rows`: whether no train sets were drawn.
    """

    of: Candidate
    evaluator: str
    pointed: Mapping[str, np.ndarray]
    predicted: Mapping[tuple[TrainSetName, str], Sequence[np.ndarray]]
    too_few_rows: bool = False

    @property
    def trained(self) -> bool:
        """Whether both train sets have two trainings or more."""
        counts = {name: {len(each) for (own, _), each in self.predicted.items() if own == name} for name in TRAIN_SETS}
        return all(counted and min(counted) >= 2 for counted in counts.values())
