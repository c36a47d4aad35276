"""Tables of records that are no scores: iterations, learning curves, evidence, settings, checks."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.filtering import FilterRow
from aflite_assets.analysis.inputs.learning_curve import SAMPLE_CURVE, CurvePoint
from aflite_assets.analysis.inputs.records import EvidenceTable
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows, brief_place
from aflite_assets.checks import CheckOutcome
from aflite_assets.reports.learning_curves import sample_text
from aflite_assets.reports.tables.cells import short, text_cell, value_cell
from aflite_assets.reports.tables.table import Column, Heading, Row, Table, TableCell
from aflite_assets.text import DASH, count, one_line, percent, value_text

MAX_EVIDENCE_ROWS = 50
"""Longer evidence tables are cut on the page; the JSON has them whole."""

_ITERATION = {
    "rows_in": "pool rows in", "train_rows_in": "train rows among them", "removed": "pool rows removed",
    "train_removed": "train rows among them", "scored_rows_in": "scored rows in",
    "scored_removed": "scored rows removed", "cutoff": "cut-off score", "representation_bias": "representation bias",
    "rows_never_held_out": "never held out",
}  # fmt: skip


def iteration_table(representation: str, rows: Sequence[FilterRow]) -> Table:
    """The iterations of one filtering, in order; without the columns of scored rows if there are none."""
    scored = any(row.scored_rows_in for row in rows)
    fields = {name: text for name, text in _ITERATION.items() if scored or not name.startswith("scored_")}
    return Table(
        f"iterations_{representation}",
        "",
        f"Iterations, representation {representation}",
        ("iteration",),
        *_columns_and_rows(rows, lambda row: str(row.iteration), fields),
        caption="Pool rows are those that classifiers are trained on and that filtering removes from. The bias is "
        "about them, and target and stop about the train rows among them."
        + (" Scored rows are never trained on and leave by the same law." if scored else ""),
    )


_POINT = {
    "held_back_rows": "held-back rows", "right": "right", "accuracy": "accuracy", "interval_low": "interval from",
    "interval_high": "to",
}  # fmt: skip
_REPEATED = {"repeats": "trainings", "lowest": "lowest", "highest": "highest"}
_CHOICE = {"elbow": "elbow", "chosen": "chosen"}


def curve_table(points: Sequence[CurvePoint]) -> Table:
    """The points of the learning curves that chose the warm-up rows."""
    fields = {"rows": "rows trained on", **_POINT, **_CHOICE}
    columns, rows = _columns_and_rows(points, lambda point: point.representation, fields)
    return Table("warmup_curve", "", "Points of the learning curves", ("representation",), columns, rows)


def sample_tables(analysis: Analysis) -> tuple[Table, ...]:
    """The points of the curve that chose the sample of the train rows; none if all are filtered."""
    points, stop = analysis.of(SAMPLE_CURVE), analysis.facts.sample_stop
    if stop is None:
        return ()
    table = Table(
        "sample_curve",
        "How large a sample is enough",
        "Accuracy by the size of the sample",
        ("rows trained on",),
        *_columns_and_rows(points, lambda point: count(point.rows), {**_POINT, **_REPEATED, **_CHOICE}),
        sample_text(points, stop),
    )
    return (table,)


def _columns_and_rows(
    records: Sequence[Any], first: Callable[[Any], str], fields: Mapping[str, str]
) -> tuple[tuple[Column, ...], tuple[Row, ...]]:
    """A row per record, after its `first` text, and a column per field, with its heading."""
    columns = (Column(Heading(text), kind="text" if name in _CHOICE else "number") for name, text in fields.items())
    rows = (Row((first(one),), tuple(value_cell(getattr(one, name)) for name in fields)) for one in records)
    return tuple(columns), tuple(rows)


_IN_WORDS = {
    "label_name": "class", "class_share": "share of that class", "share_removed": "share of removed rows",
    "share_expected": "share of random rows", "share_kept": "share kept", "adjusted_p": "p (Holm)",
    "counts": "counts as a shortcut", "classes": "of which classes", "shown": "beyond chance", "row_id": "row",
    "majority_share": "largest class",
}  # fmt: skip
"""Headings of the evidence's columns; of others the name with spaces."""

_MARKS, _MARKS_SAID = {"share_removed", "share_expected", "adjusted_p"}, " rows have the mark, "
_MARKS_CAPTION = (
    " Rows: how many have the mark, of which classes they are, and the share of them that was kept. The share of "
    "removed rows stands beside that of as many random rows of each class; of a length both count rows of its class "
    "alone. A mark that does not count as a shortcut is a hint: a single text's word or length, or a feature, may be "
    "the task."
)
_LEFT_OUT = {"p_value", "class_share"}
"""Columns of marks that the adjusted p and the shares of all classes repeat; the JSON file has both."""


def evidence_table(evidence: EvidenceTable, source: SourceRows = NO_SOURCE) -> Table:
    """A table of statistics with headings in words, at most `MAX_EVIDENCE_ROWS` of its rows.

    Rows of the dataset are named by file and line if `source` knows them.
    """
    shown = evidence.table.slice(0, MAX_EVIDENCE_ROWS)
    left_out = evidence.table.num_rows - shown.num_rows
    more = f" The first {shown.num_rows} rows; {count(left_out)} more are in the JSON file." if left_out else ""
    marks = set(shown.column_names) >= _MARKS
    if marks:
        shown = shown.drop_columns([name for name in shown.column_names if name in _LEFT_OUT])
    if shown.column_names[:1] == ["row_id"]:
        shown = shown.set_column(0, "row_id", pa.array(_row_names(shown["row_id"], source), pa.string()))
    columns = [
        Column(Heading(short(_in_words(field.name))), kind="number" if _is_number(field.type) else "text")
        for field in shown.schema
    ]
    rows = (
        [_mark_cell(name, value) if marks else value_cell(value) for name, value in row.items()]
        for row in shown.to_pylist()
    )
    return Table(
        "evidence",
        evidence.title,
        evidence.title,
        tuple(column.heading.text for column in columns[:1]),
        tuple(columns[1:]),
        tuple(Row((first.text,), tuple(others)) for first, *others in rows),
        f"{_caption_in_words(evidence, marks)}{more}",
        style="free",
    )


def _mark_cell(name: str, value: object) -> TableCell:
    """A cell of the marks, of which there are many columns: shares in per cent, p with two digits."""
    cell = value_cell(value)
    if name == "classes":
        return replace(cell, text=cell.text.replace(" %", "\N{NO-BREAK SPACE}%"))
    if not isinstance(value, float) or value != value:
        return cell
    if name == "adjusted_p":
        return replace(cell, text=value_text(float(f"{value:.1e}")))
    return replace(cell, text=f"{percent(value)}\N{NO-BREAK SPACE}%") if name.startswith("share_") else cell


def _in_words(name: str) -> str:
    return _IN_WORDS.get(name, name.replace("_", " "))


def _caption_in_words(evidence: EvidenceTable, marks: bool) -> str:
    """The caption with the names of columns as their headings; of marks with its own words about them."""
    caption = evidence.caption
    if marks and _MARKS_SAID in caption:
        return caption.partition(_MARKS_SAID)[0] + _MARKS_CAPTION
    for name in evidence.table.column_names:
        if "_" in name:
            caption = re.sub(rf"\b{re.escape(name)}\b", f"“{_in_words(name)}”", caption)
    return caption


def _row_names(row_ids: pa.ChunkedArray, source: SourceRows) -> list[str]:
    """Of each row "train.csv, line 9 (row 7)", or "row 7"."""
    return [
        f"row {place['row_id']}"
        if place["source_file"] is None
        else f"{one_line(brief_place(place))} (row {place['row_id']})"
        for place in source.of(row_ids.to_numpy()).to_pylist()
    ]


def _is_number(type_: pa.DataType) -> bool:
    return pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)


def settings_table(title: str, values: Mapping[str, object]) -> Table:
    """Names and their values."""
    rows = tuple(Row((name,), (text_cell(value_text(value)),)) for name, value in values.items())
    return Table("settings", title, title, ("name",), (Column(Heading("value"), kind="text"),), rows, style="free")


def check_table(checks: Sequence[CheckOutcome]) -> Table:
    """Every check with its outcome: those that did not pass first, those that do not apply last."""
    headings = ("about", "outcome", "what it asks", "what was found")
    in_order = sorted(checks, key=lambda check: ("failed", "passed", "skipped").index(check.outcome))
    texts = [(check.about, check.outcome, check.asks, check.said or DASH) for check in in_order]
    return Table(
        "checks",
        "",
        "All checks",
        ("check",),
        tuple(Column(Heading(text), kind="text") for text in headings),
        tuple(
            Row((check.title.replace("_", " "),), tuple(text_cell(text, strong=text == "failed") for text in each))
            for check, each in zip(in_order, texts, strict=True)
        ),
        "Of the data, the warm-up, the filter and the models. Checks that do not apply are skipped and say why.",
        style="free",
    )
