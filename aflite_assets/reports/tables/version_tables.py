"""The tables that compare two analysis results: changed accuracies, cues, rows that only one result kept, and other
differences.
"""

from collections.abc import Iterator, Sequence

from aflite_assets.analysis.comparisons.versions import MovedNumber, VersionComparison
from aflite_assets.reports.tables import cells
from aflite_assets.reports.tables.listings import listing
from aflite_assets.reports.tables.table import Table, TableCell
from aflite_assets.text import DASH, percent, short, signed_points

MOST_ROWS = 20
"""Largest number of rows in the table of rows that only one result kept. `aflite compare --json` lists all of them."""

_NUMBER_HEADS = ("evaluator", "trained on", "tested on", "rows", "before (%)", "now (%)", "difference (points)")
_NOTE = (
    "Accuracy now minus before, in points, with its 95 % interval; all accuracies are judged together (Holm 1979). "
    "They are measured on the test rows that both results have; if these are under half of a set, each result keeps "
    "its own test rows, as two independent samples."
)


_CUES = "Balanced accuracy of the property by itself, where chance is 50 %."


def version_tables(compared: VersionComparison, *, most_rows: int = MOST_ROWS) -> tuple[Table, ...]:
    """Return the tables of a comparison of two results, without empty tables."""
    return tuple(one for one in _tables(compared, most_rows) if one.rows)


def _tables(compared: VersionComparison, most_rows: int) -> Iterator[Table]:
    moved = [_number_row(one) for one in compared.moved]
    yield listing("versions", "Accuracies that moved beyond their intervals", _NUMBER_HEADS, moved, _NOTE)
    cues = [
        [*_texts([one.state, one.name, one.label, "artefact" if one.is_artefact else "yours to judge"]),
         *(TableCell(DASH) if value is None else cells.number(value, percent) for value in (one.old, one.new))]
        for one in compared.cues
    ]  # fmt: skip
    of_cues = ("change", "property", "class", "nature", "before (%)", "now (%)")
    yield listing("versions", "Cues that came, went, or moved beyond their intervals", of_cues, cues, _CUES)
    heads = ("row", "representation", "split", "class", "before", "now", "text")
    rows = [
        _texts([one.source_id, one.representation, one.split, one.label, one.old, one.new, one.text or DASH])
        for one in compared.rows[:most_rows]
    ]
    more = len(compared.rows) - len(rows)
    caption = f"{more:,} more are in the output of aflite compare --json." if more else ""
    yield listing("versions", "Rows that changed sides", heads, rows, caption)
    changed = [_texts([one.name, one.kind, one.old, one.new]) for one in compared.changed]
    yield listing("versions", "Settings, data and software that differ", ("name", "kind", "before", "now"), changed)


def _texts(values: Sequence[str]) -> list[TableCell]:
    return [cells.value(short(one)) for one in values]


def _number_row(one: MovedNumber) -> list[TableCell]:
    trained = one.train_set if one.representation is None else f"{one.train_set} ({one.representation})"
    words = _texts([one.evaluator, trained, one.test_set])
    accuracies = [cells.number(value, percent) for value in (one.old, one.new)]
    if one.difference is None or one.low is None or one.high is None:
        change = TableCell(DASH)
    else:
        bounds = cells.bounds(one.low, one.high)
        change = TableCell(signed_points(one.difference), (bounds,), one.difference, strong=True)
    return [*words, cells.number(one.rows), *accuracies, change]
