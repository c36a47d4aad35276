"""Accuracy by the size of the train set: full, its sample, and what was left at every size beside as many random rows.

Mishra and Sachdeva, "Do We Need to Create Big Datasets to Learn a Task?" (SustaiNLP 2020), Table 2, which has neither
random sets of the filtered ones' sizes nor more than one training of each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.comparisons.paired import PairedDifference, paired_differences
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.score_table import Place, score_table, trained_sizes
from aflite_assets.analysis.scores.subsets import category_parts
from aflite_assets.analysis.train_sets import control_of, is_filtered_set
from aflite_assets.reports.tables.cells import (
    NOTHING,
    difference_cell,
    minus,
    part_text,
    rows_heading,
    score_cell,
    sizes_cell,
)
from aflite_assets.reports.tables.long_form import CELL, SCORE, LongForm
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot, ruled

_ALONE = ("full", "sampled")
"""Train sets that no filter made, in their order; the second is there where a sample is filtered."""

Sizes = dict[str, tuple[int, ...]]
"""Train sets of one evaluator, each with its numbers of rows over the seeds."""


@cached_per_record
def fine_action_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Per representation one for each evaluator that was trained on a train set alone.

    None where there is one size of the filtered set alone and no sample, which other tables show.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    return tuple(
        _table(data, name, evaluator, sizes)
        for name in data.representations
        for evaluator in data.plain_evaluators
        if (sizes := _sizes(data, name, evaluator)).keys() - {"full", *_of_target(sizes)}
    )


def _sizes(data: BenchmarkData, representation: str, evaluator: str) -> Sizes:
    """Those that the table shows, in its order: the smallest filtered set first, each after its controls."""
    trained = trained_sizes(data, representation)
    sizes = {train_set: rows for (name, train_set), rows in trained.items() if name == evaluator}
    filtered = [name for name in sizes if is_filtered_set(name)]
    smallest = sorted(filtered, key=lambda name: (not sizes[name], sizes[name]))
    shown = [*_ALONE, *(one for name in smallest for one in (*_controls(name, sizes), name))]
    return {name: sizes[name] for name in shown if name in sizes}


def _controls(filtered: str, sizes: Sizes) -> tuple[str, ...]:
    of_size = ("random", control_of(filtered, sizes)) if filtered == "filtered" else (control_of(filtered, sizes),)
    return tuple(dict.fromkeys(of_size))


def _of_target(sizes: Sizes) -> tuple[str, ...]:
    return (*_controls("filtered", sizes), "filtered")


def _places(data: BenchmarkData, representation: str, evaluator: str) -> list[Place]:
    """The columns, which name no train set: natural test sets whole, challenge sets whole and by category."""
    places = []
    for test_set in data.test_sets:
        whole = Place(representation, evaluator, "", test_set.name, "all" if test_set.challenge else "full")
        places.append(whole)
        places += [
            whole._replace(column=part.column, category=part.category, label=part.label)
            for part in category_parts(test_set)
        ]
    return places


@dataclass(frozen=True)
class _BySize:
    """The cells of one table; `compared`: the differences of its filtered sets to their controls, by `_where`."""

    data: BenchmarkData
    sizes: Sizes
    compared: Mapping[tuple[str | None, ...], PairedDifference]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Filtered sets with the random rows of their size."""
        against = [(name, control_of(name, self.sizes)) for name in self.sizes if is_filtered_set(name)]
        return [pair for pair in against if pair[1] in self.sizes]

    def score(self, train_set: str, place: Place | None) -> TableCell:
        """Of a column, or without one the number of train rows."""
        rows = self.sizes[train_set]
        if place is None:
            return sizes_cell(rows)
        there = place._replace(train_set=train_set)
        keys = there._asdict() | {"train_rows": rows[0] if rows else None} | self._beside(train_set, place)
        return score_cell(score_table(self.data)[there], short=True, form="fine_action", keys=keys)

    def difference(self, pair: tuple[str, str], place: Place | None) -> TableCell:
        """Of a filtered set to its control."""
        found = None if place is None else self.compared.get(_at(*pair, place))
        if found is None:
            return NOTHING
        return difference_cell(found.interval, test_rows=found.test_rows, verdict=found.verdict)

    def _beside(self, train_set: str, place: Place) -> dict[str, Any]:
        """The same difference in numbers, for the table in long form."""
        against = dict(self.pairs).get(train_set)
        found = None if against is None else self.compared.get(_at(train_set, against, place))
        if found is None or found.interval is None:
            return {"against": against}
        return {"against": against} | {name: getattr(found.interval, name) for name in ("difference", "low", "high")}


def _at(train_set: str, against: str, place: Place) -> tuple[str | None, ...]:
    return train_set, against, place.test_set, place.tested_on, place.column, place.category, place.label


def _where(one: PairedDifference) -> tuple[str | None, ...]:
    return one.train_set, one.against, one.test_set, one.tested_on, one.column, one.category, one.label


def _table(data: BenchmarkData, representation: str, evaluator: str, sizes: Sizes) -> Table:
    places = _places(data, representation, evaluator)
    differences = (one for one in paired_differences(data, representation) if one.evaluator == evaluator)
    cells = _BySize(data, sizes, {_where(one): one for one in differences})
    keys: list[Place | None] = [None, *places]
    return Table(
        f"fine_action_{representation}",
        evaluator,
        f"{evaluator} by size of the train set, representation {representation}",
        ("trained on",),
        ruled([Column(Heading("train rows")), *(_column(data, place) for place in places)]),
        pivot(sizes, lambda train_set: (train_set,), keys, cells.score)
        + pivot(cells.pairs, minus, keys, cells.difference, apart=True),
        _CAPTION,
    )


def _column(data: BenchmarkData, place: Place) -> Column:
    test_rows = score_table(data)[place._replace(train_set="full")].test_rows
    part = part_text(place.column, place.category, place.label) if place.tested_on == "all" else "all rows"
    return Column(rows_heading(part, test_rows), Heading(place.test_set))


_CAPTION = (
    "Accuracy in per cent; mean over seeds, its deviation over them, 95 % interval. Natural test sets with all their "
    "rows, challenge sets whole and by category. Judge a filtered set by the random rows of its size: full and sampled "
    "have more rows. Last rows: filtered minus these in points, with the interval over test groups and trainings, and "
    "the verdict, both from the table of filtered against its control."
)

FINE_ACTION = LongForm(
    "fine_action",
    (
        *CELL, "train_rows", "test_set", "tested_on", "column", "category", "label", *SCORE, "against", "difference",
        "low", "high",
    ),
    fine_action_tables,
)  # fmt: skip
"""Scores by size; of filtered sets also their difference to the random rows of their size, in points."""
