"""Second phases on chosen rows against their start and against random rows (Yaghoobzadeh et al., EACL 2021)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.inputs.forgettables import Forgettables
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.intervals import CrossedInterval, paired_interval
from aflite_assets.analysis.rules.verdicts import Claim, Family, Verdict, judge
from aflite_assets.analysis.scores.accuracy import correct_rows
from aflite_assets.analysis.scores.subsets import Subset, tested_parts


def right_by_seed(cells: Sequence[Cell], test_set: TestSet) -> dict[int, np.ndarray]:
    """By seed which rows a finished training got right."""
    answers = {cell.seed: correct_rows(cell, test_set) for cell in cells}
    return {seed: rows for seed, rows in answers.items() if isinstance(rows, np.ndarray)}


@dataclass(frozen=True)
class PhaseDifference:
    """Accuracy of `evaluator`, after its second phase, minus that of `against`, in points, on the same test rows.

    `against` is the evaluator that it starts from, or the one that went on with random rows. `interval`: trainings are
    paired by their seeds, which share the first phase; None without two finished ones.
    """

    start: str
    evaluator: str
    against: str
    test_set: str
    part: Subset
    test_rows: int
    interval: CrossedInterval | None
    verdict: Verdict


@cached_per_record
def phase_differences(data: BenchmarkData) -> tuple[PhaseDifference, ...]:
    """Every second phase against its start, and against random rows where such a phase was trained.

    Those against random rows are judged (`verdicts.judge`), since a second phase on any rows changes a model. The first
    phase on forgettable rows is judged by itself on the first challenge set, the others together.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    forgettables = data.forgettables
    primary = _primary(data, forgettables)
    found: list[tuple[PhaseDifference, Claim]] = []
    for name, phase in forgettables.phases.items():
        control = forgettables.control_of(name)
        for against in dict.fromkeys(filter(None, (phase.start, control))):
            for test_set, part in tested_parts(data):
                interval = _paired(forgettables.cells_of(name), forgettables.cells_of(against), test_set, part)
                rows = int(part.mask.sum())
                difference = PhaseDifference(
                    phase.start, name, against, test_set.name, part, rows, interval, Verdict(None, "not judged")
                )
                whole = part.column is None and part.label is None
                family: Family = "whole sets" if whole else "parts of sets"
                if whole and against == control and (name, test_set.name) == primary:
                    family = "primary"
                found.append(
                    (difference, Claim(interval, rows, family, None if against == control else "not the control"))
                )
    verdicts = judge([claim for _, claim in found], smallest_effect=data.smallest_effect)
    return tuple(
        PhaseDifference(**{**vars(difference), "verdict": verdict})
        for (difference, _), verdict in zip(found, verdicts, strict=True)
    )


def _primary(data: BenchmarkData, forgettables: Forgettables) -> tuple[str, str] | None:
    """Evaluator and test set of the comparison that is judged by itself; None without a control or a challenge set."""
    names = [
        name
        for name, phase in forgettables.phases.items()
        if phase.set_name == "forgettable" and forgettables.control_of(name) is not None
    ]
    challenge = next((one.name for one in data.test_sets if one.challenge), None)
    return (names[0], challenge) if names and challenge is not None else None


def _paired(cells: Sequence[Cell], others: Sequence[Cell], test_set: TestSet, part: Subset) -> CrossedInterval | None:
    first, second = right_by_seed(cells, test_set), right_by_seed(others, test_set)
    seeds = [seed for seed in first if seed in second]
    if not seeds or not part.mask.any():
        return None
    groups = None if test_set.groups is None else test_set.groups[part.mask]
    return paired_interval(
        [first[seed][part.mask] for seed in seeds], [second[seed][part.mask] for seed in seeds], groups
    )
