"""Tables of records that are not scores: iterations, learning curves, evidence, settings, checks."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.filtering import ITERATIONS, FilterRow
from aflite_assets.analysis.inputs.learning_curve import WARMUP_CURVE
from aflite_assets.analysis.inputs.records import EvidenceTable
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows, brief_place
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.checks import CheckOutcome
from aflite_assets.reports.tables import cells
from aflite_assets.reports.tables.table import Cells, Column, Heading, Row, Table, TableCell, TableSpec, always
from aflite_assets.text import DASH, one_line, percent, short, value_text


def values_of(
    source: TidyTable[Any], where: Callable[[DatasetFacts, Any], bool] = always, /, **heads: str
) -> tuple[Cells[Any], ...]:
    """Return declarations of columns, one for each named field of the records.

    `heads`: maps each field name to the heading of its column.
    """

    def field(name: str) -> cells.CellMaker:
        return lambda facts, one: cells.value(getattr(one, name))

    return tuple(Cells(source, Column(Heading(head), key=name), field(name), where) for name, head in heads.items())


def _has_scored(_facts: DatasetFacts, one: FilterRow) -> bool:
    return one.scored_rows_in > 0


ITERATION_TABLE = TableSpec(
    "iterations_{representation}",
    "Iterations, representation {representation}",
    {"iteration": "{iteration}"},
    (
        *values_of(ITERATIONS, rows_in="pool rows in", train_rows_in="train rows among them"),
        *values_of(ITERATIONS, removed="pool rows removed", train_removed="train rows among them"),
        *values_of(ITERATIONS, _has_scored, scored_rows_in="scored rows in", scored_removed="scored rows removed"),
        *values_of(ITERATIONS, cutoff="cut-off score", representation_bias="representation bias"),
        *values_of(ITERATIONS, rows_never_held_out="never held out"),
    ),
    caption="Pool rows are those that classifiers are trained on and that filtering removes from. The bias is "
    "measured on them; the target size and the stop rule count the train rows among them. Scored rows, if "
    "there are any, are never trained on and are removed by the same rule.",
)

POINT = {
    "held_back_rows": "held-back rows", "right": "right", "accuracy": "accuracy", "interval_low": "interval from",
    "interval_high": "to",
}  # fmt: skip
CHOICE = {"elbow": "elbow", "chosen": "chosen"}

CURVE_TABLE = TableSpec(
    "warmup_curve",
    "Points of the learning curves",
    {"representation": "{representation}"},
    values_of(WARMUP_CURVE, rows="rows trained on", **POINT, **CHOICE),
    row_key=lambda one: one.rows,
)

_IN_WORDS = {
    "label_name": "class", "class_share": "share of that class", "share_removed": "share of removed rows",
    "share_expected": "share of random rows", "share_kept": "share kept", "adjusted_p": "p (Holm)",
    "classes": "of which classes", "shown": "beyond chance", "row_id": "row", "majority_share": "largest class",
}  # fmt: skip
"""Headings of columns of the evidence. The heading of any other column is its name with spaces."""

_CUE_COLUMNS = {"share_removed", "share_expected", "adjusted_p"}
_LEFT_OUT = {"p_value", "class_share"}
"""Columns of cues that repeat the adjusted p-value and the shares of all classes. The JSON file contains these
columns.
"""


def evidence_table(evidence: EvidenceTable, source: SourceRows = NO_SOURCE) -> Table:
    """Return a table of statistics about rows.

    The table names rows by file and line, if `source` knows the file and the line.
    """
    table, caption = evidence.table, evidence.caption
    is_of_cues = set(table.column_names) >= _CUE_COLUMNS
    shown = table.select([name for name in table.column_names if not (is_of_cues and name in _LEFT_OUT)])
    if shown.column_names[:1] == ["row_id"]:
        places = source.of(shown["row_id"].to_numpy()).to_pylist()
        shown = shown.set_column(0, "row_id", pa.array(map(_row_name, places), pa.string()))
    words = {name: _IN_WORDS.get(name, name.replace("_", " ")) for name in table.column_names}
    for name in filter(lambda name: "_" in name, words):
        caption = re.sub(rf"\b{re.escape(name)}\b", f"“{words[name]}”", caption)
    rows = [[_evidence_cell(is_of_cues, *each) for each in row.items()] for row in shown.to_pylist()]
    return listing("evidence", evidence.title, [short(words[name]) for name in shown.column_names], rows, caption)


def _evidence_cell(is_of_cues: bool, name: str, value: Any) -> TableCell:
    if is_of_cues and name == "adjusted_p":
        return replace(cells.value(value), text=value_text(float(f"{value:.1e}")))
    if is_of_cues and name.startswith("share_"):
        return replace(cells.value(value), text=f"{percent(value)}\N{NO-BREAK SPACE}%")
    return cells.value(value)


def _row_name(place: Mapping[str, Any]) -> str:
    """Return the name of a row, such as "train.csv, line 9 (row 7)" or "row 7"."""
    row = f"row {place['row_id']}"
    return row if place["source_file"] is None else f"{one_line(brief_place(place))} ({row})"


def settings_table(title: str, values: Mapping[str, object], name: str = "settings") -> Table:
    """Return a table with the name and the value of each setting."""
    rows = [[cells.value(each), cells.value(value_text(value))] for each, value in values.items()]
    return listing(name, title, ["name", "value"], rows)


def check_table(checks: Sequence[CheckOutcome], *, title: str = "All checks") -> Table:
    """Return a table of all checks and their outcomes. Failed checks come first, and checks that do not apply come
    last.
    """
    in_order = sorted(checks, key=lambda check: ("failed", "passed", "skipped").index(check.outcome))
    texts = [(one.title.replace("_", " "), one.about, one.outcome, one.asks, one.said or DASH) for one in in_order]
    heads = ["check", "about", "outcome", "what it asks", "what was found"]
    rows = [[cells.value(text, strong=text == "failed") for text in each] for each in texts]
    about = (
        "Checks of the data, the warm-up, the filter and the models. Checks that do not apply are skipped, with "
        "the reason."
    )
    return listing("checks", title, heads, rows, about)


def listing(name: str, title: str, heads: Sequence[str], rows: Sequence[list[TableCell]], caption: str = "") -> Table:
    """Return a table of the given rows of cells. The first cell of each row is the row's heading."""
    columns = tuple(Column(Heading(head)) for head in heads[1:])
    lines = tuple(Row((first.text,), tuple(others)) for first, *others in rows)
    return Table(name, title, title, tuple(heads[:1]), columns, lines, caption, style="free")
