"""Records of forgettable rows, from which the study's numbers are computed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.records import BenchmarkData, SecondPhases
from aflite_assets.analysis.inputs.weak_models import SecondPhase, WeakModelFacts


@dataclass(frozen=True)
class Agreement:
    """Agreement of two training runs on the rows that they forget: counts, and the Jaccard index of the two sets of
    forgotten rows.

    `jaccard_by_chance`: the mean Jaccard index of two random sets with the sizes of the two sets of forgotten rows.
    `jaccard` and `jaccard_by_chance` are None if no row is forgettable.
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
    """Learning statistics of the train rows in one training run of a weak model.

    `counts`: one line per row with the int64 columns `row_id`, `forgetting_events`, `right` and `presentations`.
    `right` counts the correct predictions; 0 means never learnt. `sets`: row ids (int64, ascending) of each set drawn
    from this training run, by name; random sets are left out.
    """

    weak_model: str
    seed: int
    counts: pa.Table
    sets: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class Threshold:
    """Accuracy of a model that assigns rows to the class `class_name` by a probability threshold. The accuracy lies in
    [0, 1] and is averaged over `seeds`.

    A row is assigned to the class if its probability of the class exceeds the threshold. `chosen`: whether this
    threshold has the highest accuracy. Among equal accuracies, the threshold nearest to 0.5 is chosen.
    """

    evaluator: str
    test_set: str
    class_name: str
    threshold: float
    accuracy: float
    seeds: int
    chosen: bool


def threshold_curve(
    evaluator: str, test_set: str, class_name: str, thresholds: np.ndarray, accuracy: np.ndarray, seeds: int
) -> Iterator[Threshold]:
    """Yield one record per threshold; `thresholds` and `accuracy` (mean over `seeds`) are float64 in [0, 1]."""
    highest = thresholds[accuracy == accuracy.max()]
    best = highest[np.abs(highest - 0.5).argmin()]
    for one, mean in zip(thresholds.tolist(), accuracy.tolist(), strict=True):
        yield Threshold(evaluator, test_set, class_name, one, mean, seeds, one == float(best))


@dataclass(frozen=True, kw_only=True, eq=False)
class Forgettables(SecondPhases):
    """Everything that one report shows about forgettable rows: weak models, row sets, second training phases and
    thresholds.

    `models`: the trained weak models by name; `failed`: for each weak model that was not trained, the reason.
    `minorities` has the columns `weak_model` and `name` (null for the set of all rows), `seed`, `measure`, `group`,
    `rows`, `mean` and `deviation`. `overlap`: per natural test set, the Jaccard index (float64 in [0, 1]) of the words
    in each row's two texts; `positive`: the class number associated with a high overlap. `thresholds`: threshold curves
    of second phases and of the evaluators from which the phases start. `learnt`: how each training run of a weak model
    learnt the rows.
    """

    models: Mapping[str, WeakModelFacts] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    agreement: tuple[Agreement, ...] = ()
    minorities: pa.Table = field(default_factory=lambda: pa.table({}))
    overlap: Mapping[str, np.ndarray] = field(default_factory=dict)
    positive: int | None = None
    thresholds: tuple[Threshold, ...] = ()
    learnt: tuple[LearntRows, ...] = ()

    @classmethod
    def of(cls, data: BenchmarkData) -> "Forgettables":
        """Return the record of a report, which is empty without weak models."""
        found = data.studies.get("forgettable_sets")
        return found if isinstance(found, Forgettables) else cls()

    @property
    def starts(self) -> tuple[str, ...]:
        """The evaluators from which second phases start, each once."""
        return tuple(dict.fromkeys(phase.start for phase in self.phases.values()))

    def control_of(self, evaluator: str) -> str | None:
        """Return the control, an evaluator with a second phase on as many random rows, or None."""
        phase = self.phases[evaluator]
        return None if phase.set_name == "random" else self._phase_on(phase, "random")

    def rival_of(self, evaluator: str) -> str | None:
        """Return the evaluator whose second phase determined the size of the given evaluator's phase, or None."""
        phase = self.phases[evaluator]
        return None if phase.as_many_as is None else self._phase_on(phase, "forgettable")

    def _phase_on(self, phase: SecondPhase, set_name: str) -> str | None:
        """Return the evaluator with the same start as `phase` and with a second phase on the set `set_name` of the weak
        model `phase.sized_by`.
        """
        wanted = (phase.start, phase.sized_by, set_name)
        found = (name for name, one in self.phases.items() if (one.start, one.weak_model, one.set_name) == wanted)
        return next(found, None)
