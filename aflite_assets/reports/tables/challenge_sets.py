"""Accuracy on each challenge set: whole, by gold label, by category, and by both."""

from collections.abc import Iterator, Sequence
from functools import partial

from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.scores.score_table import Place, score_records, score_table, trained_sizes
from aflite_assets.analysis.scores.subsets import Subset, subsets_of
from aflite_assets.reports.class_maps import set_notes
from aflite_assets.reports.tables.cells import part_text, rows_heading, score_cell, short, sizes_cell
from aflite_assets.reports.tables.long_form import CELL, PART, SCORE, LongForm
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot


def challenge_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Per representation one for each set and category column, with the set's notes; then which sets are missing."""
    return tuple(table for name in data.representations for table in _tables(data, name))


CHALLENGE_SETS = LongForm("challenge_sets", (*CELL, *PART, *SCORE), partial(score_records, challenge=True))


def _tables(data: BenchmarkData, representation: str) -> Iterator[Table]:
    for test_set in data.test_sets:
        if test_set.challenge and data.evaluators:
            for column, parts in part_blocks(test_set):
                yield _table(data, representation, test_set, column, parts)
    for missing, why in data.missing_sets.items():
        yield Table(f"challenge_sets_{representation}", missing, missing, (), (), (), notes=(f"not available: {why}",))


def part_blocks(test_set: TestSet) -> list[tuple[str | None, list[Subset]]]:
    """The parts of a challenge set that one table shows: all, or those of each category column where it has several.

    The first block, with column None, then has the parts of the whole set.
    """
    parts = subsets_of(test_set)
    columns = list(dict.fromkeys(part.column for part in parts if part.column is not None))
    if len(columns) < 2:
        return [(None, parts)]
    return [(column, [part for part in parts if part.column == column]) for column in (None, *columns)]


def _table(
    data: BenchmarkData, representation: str, test_set: TestSet, column: str | None, parts: Sequence[Subset]
) -> Table:
    scores, sizes = score_table(data), trained_sizes(data, representation)
    whole = Place(representation, "", "", test_set.name)
    places = [whole._replace(column=one.column, category=one.category, label=one.label) for one in parts]

    def cell(trained: tuple[str, str], place: Place | None) -> TableCell:
        if place is None:
            return sizes_cell(sizes[trained])
        return score_cell(scores[place._replace(evaluator=trained[0], train_set=trained[1])])

    title = test_set.name if column is None else f"{test_set.name}, by {short(column)}"
    return Table(
        f"challenge_sets_{representation}",
        title,
        title,
        ("evaluator", "trained on"),
        (
            Column(Heading("train rows")),
            Column(rows_heading("overall", len(test_set.row_ids)), line=True),
            *(_part_column(part, before) for part, before in zip(parts, [None, *parts], strict=False)),
        ),
        pivot(sizes, lambda trained: trained, [None, whole, *places], cell),
        f"Accuracy in per cent; train sets of representation {representation}.{_HALVES if parts else ''}",
        set_notes(test_set, data.label_names) if column is None else (),
    )


def _part_column(part: Subset, before: Subset | None) -> Column:
    """With a line where another category begins."""
    begins = before is None or (before.column, before.category) != (part.column, part.category)
    heading = rows_heading(part_text(part.column, part.category, part.label), int(part.mask.sum()))
    return Column(heading, line=part.column is not None and begins)


_HALVES = (
    " Rows with different gold labels are shown apart: a model that leans on a shortcut is right on one half and "
    "wrong on the other."
)
