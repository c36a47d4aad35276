"""Zero-shot accuracy on all challenge sets side by side, a row per train set (ICML 2020, Table 1)."""

from dataclasses import replace

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.score_table import Place, points, score_table, trained_sizes
from aflite_assets.analysis.scores.subsets import zero_shot_subsets
from aflite_assets.analysis.train_sets import compared_pairs
from aflite_assets.reports.tables.cells import (
    NOTHING,
    minus,
    part_text,
    points_cell,
    rows_heading,
    score_cell,
    sizes_cell,
)
from aflite_assets.reports.tables.long_form import CELL, PART, SCORE, LongForm
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot, ruled


@cached_per_record
def zero_shot_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Per representation one for each evaluator that was trained on a train set alone; none without a challenge set.

    The paper's convention for HANS, the non-entailment half of each heuristic, is here the part of one gold label
    within a category, and the other half stands beside it. Differences are of filtered, and of what it had left
    earlier, against full and against the random rows of its size.
    """
    if not any(one.challenge for one in data.test_sets):
        return ()
    return tuple(_table(data, name, each) for name in data.representations for each in data.plain_evaluators)


def _places(data: BenchmarkData, representation: str, evaluator: str) -> list[Place]:
    """The columns: places that name no train set."""
    return [
        Place(representation, evaluator, "", one.name, "all", part.column, part.category, part.label)
        for one in data.test_sets
        if one.challenge
        for part in zero_shot_subsets(one)
    ]


def _table(data: BenchmarkData, representation: str, evaluator: str) -> Table:
    scores, places = score_table(data), _places(data, representation, evaluator)
    sizes = {one: size for (name, one), size in trained_sizes(data, representation).items() if name == evaluator}

    def score(train_set: str, place: Place | None) -> TableCell:
        if place is None:
            return sizes_cell(sizes[train_set])
        there = place._replace(train_set=train_set)
        return score_cell(scores[there], short=True, form="zero_shot", keys=there._asdict())

    def difference(pair: tuple[str, str], place: Place | None) -> TableCell:
        if place is None:
            return NOTHING
        first, second = (place._replace(train_set=one) for one in pair)
        gap = points(scores[first], scores[second])
        keys = {**first._asdict(), "against": pair[1], "difference": gap}
        return replace(points_cell(gap), form="zero_shot_differences", record=keys)

    columns = [Column(Heading("train rows"))]
    for place in places:
        test_rows = scores[place._replace(train_set="full")].test_rows
        part = part_text(place.column, place.category, place.label)
        columns.append(Column(rows_heading(part, test_rows), Heading(place.test_set)))
    pairs = compared_pairs(sizes)
    return Table(
        f"zero_shot_{representation}",
        evaluator,
        f"{evaluator}, zero-shot; train sets of representation {representation}",
        ("trained on",),
        ruled(columns),
        pivot(sizes, lambda train_set: (train_set,), [None, *places], score)
        + pivot(pairs, minus, [None, *places], difference, apart=True),
        _CAPTION,
    )


_CAPTION = (
    "Accuracy in per cent; mean over seeds, its deviation over them, 95 % interval. Where a category has rows of "
    "several gold labels, each stands beside the whole. Last rows: differences of these means in points; their "
    "intervals and verdicts are in the tables of filtered against its control. Of a set with several category "
    "columns, the rows with any value of each; the values apart are in the set's own tables."
)


ZERO_SHOT = LongForm("zero_shot", (*CELL, *PART, *SCORE), zero_shot_tables)
ZERO_SHOT_DIFFERENCES = LongForm("zero_shot_differences", (*CELL, "against", *PART, "difference"), zero_shot_tables)
"""Trained on `train_set` minus trained on `against`, in points; none where either has no result."""
