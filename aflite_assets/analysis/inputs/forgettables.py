"""What the report knows of forgettable rows: weak models, what they agree on, minorities, and second phases."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.trained_cells import Cell, require


@dataclass(frozen=True)
class WeakModelFacts:
    """One weak model's numbers, of its first seed; as JSON in the summary of `forgettable_sets`.

    `rows`: presented in training; of these `forgettable`, `never_learnt`, and `taken` (after balancing). `events`: rows
    by forgetting events, and those never learnt. `by_class`: rows, forgettable and taken by class. Shares in [0, 1]:
    `largest_class` of the rows, `train_accuracy` as presented, `accuracy` on splits that were not trained on.
    `margins`: of these splits `largest_class`, and `low` and `high` of the interval of the accuracy over it, in points;
    none of splits that are too small to tell, of an evaluator's own training, and in earlier results.
    """

    rows: int
    forgettable: int
    taken: int
    never_learnt: int
    events: Mapping[str, int]
    by_class: Mapping[str, Mapping[str, int]]
    largest_class: float
    train_accuracy: float
    accuracy: Mapping[str, float]
    margins: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Of the rows that are forgettable."""
        return self.forgettable / max(self.rows, 1)


@dataclass(frozen=True)
class Agreement:
    """How far two trainings forget the same rows: counts, and the Jaccard index beside its mean for random sets.

    The random sets have the same sizes; both are None where no row is forgettable.
    """

    first: str
    second: str
    first_rows: int
    second_rows: int
    shared: int
    jaccard: float | None
    jaccard_by_chance: float | None


@dataclass(frozen=True, eq=False)
class LearntRows:
    """How train rows were learnt in one training of a weak model.

    Arrays (rows,) int64: `row_ids` ascending, and counts `events`, `right` (0: never learnt) and `presentations`.
    `sets`: of the training whose rows are used the row ids (int64, ascending) of each set but random ones, by name; of
    other seeds' trainings None.

    Raises:
        InvalidInputError: lengths differ, or row ids do not ascend.
    """

    weak_model: str
    seed: int
    row_ids: np.ndarray
    events: np.ndarray
    right: np.ndarray
    presentations: np.ndarray
    sets: Mapping[str, np.ndarray] | None = None

    def __post_init__(self) -> None:
        where, rows = f"rows of weak model {self.weak_model!r}, seed {self.seed}", len(self.row_ids)
        lengths = {len(self.events), len(self.right), len(self.presentations)}
        require(lengths == {rows}, f"{where}: {rows} row ids, and counts of {sorted(lengths)} rows")
        require(bool((np.diff(self.row_ids) > 0).all()), f"{where}: row ids must ascend, each once")

    def places(self, row_ids: np.ndarray) -> np.ndarray:
        """Where these rows stand, int64; -1 for rows that it was not trained on."""
        if not len(self.row_ids):
            return np.full(len(row_ids), -1)
        places = np.minimum(np.searchsorted(self.row_ids, row_ids), len(self.row_ids) - 1)
        return np.where(self.row_ids[places] == row_ids, places, -1)


@dataclass(frozen=True)
class SecondPhase:
    """An evaluator that goes on from `start`, trained on full, with rows of weak models.

    `rows`: what each stage trains on, in words; `weak_model` and `set_name`: of the first stage on a weak model's rows;
    `training`: how each stage trains, in words, empty where that is not known.
    """

    start: str
    rows: tuple[str, ...]
    weak_model: str
    set_name: str
    training: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """What the evaluator is, in words."""
        return f"{self.start}, trained on full and then on {', then on '.join(self.rows)}"


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """Accuracy of one evaluator on a test set of two classes, by the threshold on the probability of one of them.

    `positive`: that class; a row counts as it where the probability is over the threshold. `thresholds` and `accuracy`
    (mean over seeds), float64 in [0, 1]. `seeds`: finished ones.
    """

    evaluator: str
    test_set: str
    positive: str
    thresholds: np.ndarray
    accuracy: np.ndarray
    seeds: int

    @property
    def best(self) -> float:
        """The threshold of highest accuracy; of several the one nearest to a half."""
        highest = np.flatnonzero(self.accuracy == self.accuracy.max())
        return float(self.thresholds[highest[np.abs(self.thresholds[highest] - 0.5).argmin()]])

    @property
    def best_accuracy(self) -> float:
        """At that threshold."""
        return float(self.accuracy.max())

    def at(self, threshold: float) -> float:
        """Accuracy at the nearest threshold."""
        return float(self.accuracy[np.abs(self.thresholds - threshold).argmin()])


@dataclass(frozen=True, eq=False)
class Forgettables:
    """Everything about forgettable rows that one report shows.

    `models` by name, `failed` by name with the reason. `minorities`: weak_model and name (null of all rows), seed,
    measure, group, rows, mean, deviation. `phases` by evaluator. `cells`: those of phases and of what they start from
    on full, and of train sets of forgettable rows alone, which stand in no other table. `overlap`: by natural test set
    the Jaccard index of both texts' words of each row, float64 in [0, 1]; `positive`: the class number that goes with
    it; both empty without `minorities`. `thresholds`: of what phases start from and of the phases. `learnt`: row by
    row, of every training of a weak model.
    """

    models: Mapping[str, WeakModelFacts]
    failed: Mapping[str, str]
    agreement: tuple[Agreement, ...]
    minorities: pa.Table
    phases: Mapping[str, SecondPhase]
    cells: tuple[Cell, ...]
    overlap: Mapping[str, np.ndarray] = field(default_factory=dict)
    positive: int | None = None
    thresholds: tuple[ThresholdCurve, ...] = ()
    learnt: tuple[LearntRows, ...] = ()

    @property
    def starts(self) -> tuple[str, ...]:
        """The evaluators that phases go on from, each once."""
        return tuple(dict.fromkeys(phase.start for phase in self.phases.values()))

    def phases_from(self, start: str) -> dict[str, SecondPhase]:
        """The evaluators that go on from one, in their order."""
        return {name: phase for name, phase in self.phases.items() if phase.start == start}

    def control_of(self, evaluator: str) -> str | None:
        """The evaluator that went on with as many random rows in place of this one's; None without one."""
        phase = self.phases[evaluator]
        if phase.set_name == "random":
            return None
        return next(
            (
                name
                for name, other in self.phases.items()
                if (other.start, other.weak_model, other.set_name) == (phase.start, phase.weak_model, "random")
            ),
            None,
        )

    def cells_of(self, evaluator: str, train_set: str = "full") -> list[Cell]:
        """Over the seeds."""
        return [cell for cell in self.cells if (cell.evaluator, cell.train_set) == (evaluator, train_set)]


NO_FORGETTABLES = Forgettables({}, {}, (), pa.table({}), {}, ())
"""The forgettable rows of a report whose file names no weak model."""
