"""Second phases on forgettable rows: accuracy before and after, differences, and training on such rows alone.

Yaghoobzadeh et al., EACL 2021, Tables 4 to 9.
"""

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from aflite_assets.analysis.comparisons.second_phase import phase_differences, right_by_seed
from aflite_assets.analysis.inputs.forgettables import Forgettables
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell
from aflite_assets.analysis.scores.accuracy import correct_rows, score
from aflite_assets.analysis.scores.subsets import TestedPart, part_place, tested_parts
from aflite_assets.reports.tables.cells import (
    NOTHING,
    difference_cell,
    part_text,
    rows_heading,
    score_cell,
    sizes_cell,
)
from aflite_assets.reports.tables.long_form import PART, SCORE, LongForm
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot, ruled
from aflite_assets.text import count, percent


def two_phase_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Per evaluator that second phases start from: accuracies, then differences; none without second phases.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    forgettables = data.forgettables
    if forgettables is None:
        return ()
    return tuple(
        table
        for start in forgettables.starts
        for table in (_accuracies(data, forgettables, start), _differences(data, forgettables, start))
    )


def alone_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Per evaluator trained on forgettable rows alone: beside as many random rows, and full (Table 7).

    Raises:
        DataError: predictions do not fit their test sets.
    """
    forgettables = data.forgettables
    if forgettables is None:
        return ()
    names = dict.fromkeys(cell.evaluator for cell in forgettables.cells if cell.train_set != "full")
    return tuple(_alone(data, forgettables, name) for name in names)


def _shown(column: TestedPart) -> Column:
    test_set, part = column
    heading = rows_heading(part_text(part.column, part.category, part.label), int(part.mask.sum()))
    return Column(heading, Heading(test_set.name))


def _keys(column: TestedPart) -> dict[str, object]:
    test_set, part = column
    return {"test_set": test_set.name, "column": part.column, "category": part.category, "label": part.label}


def _accuracies(data: BenchmarkData, forgettables: Forgettables, start: str) -> Table:
    columns = tested_parts(data)
    keys: list[TestedPart | str] = ["rows", "average", *columns]  # what sums up stands where it is seen
    phases = forgettables.phases_from(start)

    def cell(name: str, column: TestedPart | str) -> TableCell:
        cells = forgettables.cells_of(name)
        if column == "rows":
            return sizes_cell(sorted({each.train_rows for each in cells if each.status == "done"}))
        if isinstance(column, str):
            return _average(data, cells)
        test_set, part = column
        found = score([correct_rows(each, test_set) for each in cells], part.mask, test_set.groups)
        names = {"start": start, "evaluator": name, "then_on": _then_on(forgettables, name)}
        return score_cell(found, short=True, form="two_phase", keys={**names, **_keys(column)})

    return Table(
        "two_phase",
        start,
        f"{start}, then a second phase",
        ("evaluator", "then trained on"),
        ruled([Column(Heading("train rows of full")), Column(Heading("average")), *map(_shown, columns)]),
        pivot(
            [start, *phases],
            lambda name: (name, _then_text(forgettables, name)),
            keys,
            cell,
        ),
        _ACCURACIES,
    )


_ACCURACIES = (
    "Accuracy in per cent after all phases; mean over seeds, its deviation, 95 % interval. Every phase starts from the "
    "same model, trained on full. Average: of the mean over the dataset's own splits and the mean over challenge sets, "
    "as in the paper."
)


def _then_on(forgettables: Forgettables, name: str) -> str | None:
    phase = forgettables.phases.get(name)
    return None if phase is None else ", then ".join(phase.rows)


def _then_text(forgettables: Forgettables, name: str) -> str:
    """The later stages with their rows, where these are known, epochs and rates."""
    phase = forgettables.phases.get(name)
    if phase is None:
        return "nothing more"
    facts = forgettables.models.get(phase.weak_model)
    first = f"{count(facts.taken)} " if facts is not None and phase.set_name in ("forgettable", "random") else ""
    said = [f"{rows}, {training}" for rows, training in zip_longest(phase.rows, phase.training, fillvalue="")]
    return first + ", then ".join(each.removesuffix(", ") for each in said)


def _average(data: BenchmarkData, cells: Sequence[Cell]) -> TableCell:
    """Of in- and out-of-distribution accuracy, with the deviation over seeds; a dash without both kinds of sets."""
    sides = [[one for one in data.test_sets if one.challenge == challenge] for challenge in (False, True)]
    by_seed = []
    for cell in cells:
        means = [[rows.mean() for one in side for rows in right_by_seed([cell], one).values()] for side in sides]
        if all(means):
            by_seed.append(float(np.mean([np.mean(side) for side in means])))
    if not by_seed:
        return NOTHING
    deviation = () if len(by_seed) < 2 else (f"±{percent(float(np.std(by_seed, ddof=1)))}",)
    mean = float(np.mean(by_seed))
    return TableCell(percent(mean), deviation, mean)


def _differences(data: BenchmarkData, forgettables: Forgettables, start: str) -> Table:
    differences = [one for one in phase_differences(data) if one.start == start]
    columns = tested_parts(data)
    pairs = list(dict.fromkeys((one.evaluator, one.against) for one in differences))
    by_place = {(one.evaluator, one.against, part_place(one.test_set, one.part)): one for one in differences}

    def cell(pair: tuple[str, str], column: TestedPart) -> TableCell:
        one = by_place[*pair, part_place(column[0].name, column[1])]
        judged = None if one.verdict.why == "not the control" else one.verdict
        shown = difference_cell(one.interval, test_rows=one.test_rows, verdict=judged)
        record = {
            "start": start,
            "evaluator": one.evaluator,
            "against": one.against,
            "then_on": _then_on(forgettables, one.evaluator),
            **_keys(column),
            "verdict": one.verdict.side,
            "why": one.verdict.why,
            **({} if one.interval is None else vars(one.interval)),
        }
        return TableCell(**{**vars(shown), "form": "two_phase_differences", "record": record})

    return Table(
        "two_phase_differences",
        start,
        f"{start}: what the second phase changes",
        ("evaluator", "minus"),
        ruled([_shown(column) for column in columns]),
        pivot(pairs, lambda pair: pair, columns, cell),
        _DIFFERENCES,
    )


_DIFFERENCES = (
    "Points on the same test rows; in brackets 95 % intervals over test groups and trainings, paired by seed. "
    "Verdicts are on differences to a second phase on as many random rows: what any second phase does is no merit of "
    "forgettable rows."
)


def _alone(data: BenchmarkData, forgettables: Forgettables, evaluator: str) -> Table:
    columns = [(one, part) for one, part in tested_parts(data) if part.mask.all()]
    train_sets = list(dict.fromkeys(cell.train_set for cell in forgettables.cells if cell.evaluator == evaluator))
    train_sets.sort(key=lambda name: (name == "full", name.removeprefix("random_"), name.startswith("random_")))

    def cell(train_set: str, column: TestedPart | None) -> TableCell:
        cells = forgettables.cells_of(evaluator, train_set)
        if column is None:
            return sizes_cell(sorted({each.train_rows for each in cells if each.status == "done"}))
        test_set, part = column
        found = score([correct_rows(each, test_set) for each in cells], part.mask, test_set.groups)
        keys = {"evaluator": evaluator, "train_set": train_set, **_keys(column)}
        return score_cell(found, short=True, form="forgettables_alone", keys=keys)

    return Table(
        "forgettables_alone",
        evaluator,
        f"{evaluator}, trained on forgettable rows alone",
        ("trained on",),
        ruled([Column(Heading("train rows")), *map(_shown, columns)]),
        pivot(train_sets, lambda name: (name,), [None, *columns], cell),
        "Accuracy in per cent; mean over seeds, its deviation, 95 % interval. The random rows are as many.",
    )


TWO_PHASE = LongForm("two_phase", ("start", "evaluator", "then_on", *PART, *SCORE), two_phase_tables)
TWO_PHASE_DIFFERENCES = LongForm(
    "two_phase_differences",
    (
        "start", "evaluator", "against", "then_on", *PART, "difference", "low", "high", "p_value", "counts_training",
        "verdict", "why",
    ),
    two_phase_tables,
)  # fmt: skip
FORGETTABLES_ALONE = LongForm("forgettables_alone", ("evaluator", "train_set", *PART, *SCORE), alone_tables)
