"""Differences between second phases, and between second phases and the models from which they start."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from aflite_assets.analysis import intervals
from aflite_assets.analysis.comparisons.differences import Difference, family_of, rows_of
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.intervals import CrossedInterval
from aflite_assets.analysis.rules.verdicts import Bar, Claim
from aflite_assets.analysis.scores import subsets
from aflite_assets.analysis.scores.accuracy import finished_rows
from aflite_assets.analysis.scores.subsets import Subset
from aflite_assets.studies.forgettables.analysis.records import Forgettables


def second_phases(data: BenchmarkData) -> Iterator[tuple[Difference, Claim]]:
    """Compare each second training phase with the model before the phase. A phase with a control is also compared with
    the control, which is a phase on random rows.

    If `as_many_as` names another weak model, the phase is also compared with the phase on that weak model's forgettable
    rows. Only comparisons with the control get a verdict, because a second phase on any rows changes a model. One
    comparison is judged separately: the first phase on forgettable rows against its control, on the first challenge
    set. Source: Yaghoobzadeh et al., EACL 2021.
    """
    forgettables = Forgettables.of(data)
    controls = {name: forgettables.control_of(name) for name in forgettables.phases}
    on_forgettable = [name for name, one in forgettables.phases.items() if one.set_name == "forgettable"]
    primary = next((name for name in on_forgettable if controls[name] is not None), None)
    challenge = next((one.name for one in data.test_sets if one.challenge), None)
    for name, phase in forgettables.phases.items():
        others = dict.fromkeys(filter(None, (phase.start, controls[name], forgettables.rival_of(name))))
        tested = [(test_set, part) for test_set in data.test_sets for part in subsets.compared_parts(test_set)]
        for against, (test_set, part) in product(others, tested):
            sides = {"evaluator": name, "train_set": "full", "against_evaluator": against, "against": "full"}
            rows = int(part.mask.sum())
            one = Difference(comparison="second phase", **sides | rows_of(test_set, part), test_rows=rows)
            is_control = against == controls[name]
            alone = one.whole and is_control and (name, test_set.name) == (primary, challenge)
            interval = _by_seed(forgettables.cells_of(name), forgettables.cells_of(against), test_set, part)
            bar: Bar | None = None if is_control else "not the control"
            yield one, Claim(interval, rows, "deciding" if alone else family_of(part), bar)


def _by_seed(cells: Sequence[Cell], others: Sequence[Cell], test_set: TestSet, part: Subset) -> CrossedInterval | None:
    """Compare training runs with the same seed in pairs, because runs with the same seed share the first phase.

    Return None if no seed was used on both sides, or if the part has no rows.
    """
    first, second = (
        {cell.seed: right[part.mask].astype(np.float64) for cell in side for right in finished_rows([cell], test_set)}
        for side in (cells, others)
    )
    gaps = [right - second[seed] for seed, right in first.items() if seed in second]
    if not gaps or not part.mask.any():
        return None
    return intervals.crossed_interval(gaps, None, None if test_set.groups is None else test_set.groups[part.mask])


PART = second_phases
