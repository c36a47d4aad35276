"""Tables of records that are no scores: iterations, learning curves, evidence, settings, planted rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.filtering import FilterRow
from aflite_assets.analysis.inputs.learning_curve import SAMPLE_CURVE, CurvePoint
from aflite_assets.analysis.inputs.records import EvidenceTable
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows, brief_place
from aflite_assets.checks import CheckOutcome
from aflite_assets.reports.learning_curves import sample_text
from aflite_assets.reports.tables.cells import short, text_cell, value_cell
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot
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
    """The iterations of one filtering, in order; without the columns of scored rows where there are none."""
    scored = any(row.scored_rows_in for row in rows)
    names = [name for name in _ITERATION if scored or not name.startswith("scored_")]
    return Table(
        f"iterations_{representation}",
        "",
        f"Iterations, representation {representation}",
        ("iteration",),
        tuple(Column(Heading(_ITERATION[name])) for name in names),
        pivot(rows, lambda row: (str(row.iteration),), names, lambda row, name: value_cell(getattr(row, name))),
        "Pool rows are those that classifiers are trained on and that filtering removes from. The bias is about them, "
        "and target and stop about the train rows among them."
        + (" Scored rows are never trained on and leave by the same law." if scored else ""),
    )


_POINT = {
    "rows": "rows trained on", "held_back_rows": "held-back rows", "right": "right", "accuracy": "accuracy",
    "interval_low": "interval from", "interval_high": "to", "elbow": "elbow", "chosen": "chosen",
}  # fmt: skip


def curve_table(points: Sequence[CurvePoint]) -> Table:
    """The points of the learning curves that chose the warm-up rows."""
    return Table(
        "warmup_curve",
        "",
        "Points of the learning curves",
        ("representation",),
        tuple(
            Column(Heading(text), kind="text" if name in ("elbow", "chosen") else "number")
            for name, text in _POINT.items()
        ),
        pivot(
            points,
            lambda point: (point.representation,),
            list(_POINT),
            lambda point, name: value_cell(getattr(point, name)),
        ),
    )


_SAMPLE_POINT = {
    "held_back_rows": "held-back rows", "right": "right", "accuracy": "accuracy", "interval_low": "interval from",
    "interval_high": "to", "repeats": "trainings", "lowest": "lowest", "highest": "highest", "elbow": "elbow",
    "chosen": "chosen",
}  # fmt: skip


def sample_tables(analysis: Analysis) -> tuple[Table, ...]:
    """The points of the curve that chose the sample of the train rows; none where all are filtered."""
    points, stop = analysis.of(SAMPLE_CURVE), analysis.facts.sample_stop
    if stop is None:
        return ()
    table = Table(
        "sample_curve",
        "How large a sample is enough",
        "Accuracy by the size of the sample",
        ("rows trained on",),
        tuple(
            Column(Heading(text), kind="text" if name in ("elbow", "chosen") else "number")
            for name, text in _SAMPLE_POINT.items()
        ),
        pivot(
            points,
            lambda point: (count(point.rows),),
            list(_SAMPLE_POINT),
            lambda point, name: value_cell(_whole(getattr(point, name))),
        ),
        sample_text(points, stop),
    )
    return (table,)


def _whole(value: object) -> object:
    """A mean of counts that is a count, as one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


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
"""Of marks: the adjusted p and the shares of all classes say them; the JSON file has both."""


def evidence_table(evidence: EvidenceTable, source: SourceRows = NO_SOURCE) -> Table:
    """A table of statistics with headings in words, at most `MAX_EVIDENCE_ROWS` of its rows.

    Rows of the dataset are named by file and line where `source` knows them.
    """
    shown, left_out = evidence.table.slice(0, MAX_EVIDENCE_ROWS), max(0, evidence.table.num_rows - MAX_EVIDENCE_ROWS)
    more = f" The first {shown.num_rows} rows; {count(left_out)} more are in the JSON file." if left_out else ""
    caption = _caption_in_words(evidence)
    marks = set(shown.column_names) >= _MARKS
    if marks:
        shown = shown.drop_columns([name for name in shown.column_names if name in _LEFT_OUT])
        if "classes" in shown.column_names:
            whole = pc.replace_substring(shown["classes"], " %", "\N{NO-BREAK SPACE}%")
            shown = shown.set_column(shown.column_names.index("classes"), "classes", whole)
    if shown.column_names[:1] == ["row_id"]:
        shown = shown.set_column(0, "row_id", pa.array(_row_names(shown["row_id"], source), pa.string()))
    kinds = [_kind(field.type) for field in shown.schema]
    names = [short(_in_words(name)) for name in shown.column_names]
    rows = list(zip(*(column.to_pylist() for column in shown.columns), strict=True))
    return Table(
        "evidence",
        evidence.title,
        evidence.title,
        tuple(names[:1]),
        tuple(Column(Heading(name), kind=kind) for name, kind in zip(names, kinds, strict=True))[1:],
        pivot(
            rows,
            lambda row: (value_cell(row[0]).text,),
            range(1, len(names)),
            lambda row, place: _brief_cell(row[place], shown.column_names[place]) if marks else value_cell(row[place]),
        ),
        f"{caption}{more}",
        style="free",
    )


def _brief_cell(value: object, name: str) -> TableCell:
    """A cell of the marks, of which there are many columns: shares in per cent, p with two digits."""
    cell = value_cell(value)
    if not isinstance(value, float) or value != value:
        return cell
    if name == "adjusted_p":
        return replace(cell, text=value_text(float(f"{value:.1e}")))
    return replace(cell, text=f"{percent(value)}\N{NO-BREAK SPACE}%") if name.startswith("share_") else cell


def _in_words(name: str) -> str:
    return _IN_WORDS.get(name, name.replace("_", " "))


def _caption_in_words(evidence: EvidenceTable) -> str:
    """The caption with the names of columns as their headings; of marks with its own words about them."""
    caption, names = evidence.caption, evidence.table.column_names
    if set(names) >= _MARKS and _MARKS_SAID in caption:
        return caption.partition(_MARKS_SAID)[0] + _MARKS_CAPTION
    named = [name for name in names if "_" in name]
    if not named:
        return caption
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, named))})\b")
    return pattern.sub(lambda found: f"“{_in_words(found[0])}”", caption)


def _row_names(row_ids: pa.ChunkedArray, source: SourceRows) -> list[str]:
    """Of each row "train.csv, line 9 (row 7)", or "row 7"."""
    places = source.of(row_ids.to_numpy()).to_pylist()
    return [
        f"row {place['row_id']}"
        if place["source_file"] is None
        else f"{one_line(brief_place(place))} (row {place['row_id']})"
        for place in places
    ]


def _kind(type_: pa.DataType) -> Literal["number", "text"]:
    number = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    return "number" if number else "text"


def settings_table(title: str, values: Mapping[str, object]) -> Table:
    """Names and their values."""
    return Table(
        "settings",
        title,
        title,
        ("name",),
        (Column(Heading("value"), kind="text"),),
        pivot(values, lambda name: (name,), [None], lambda name, _: text_cell(value_text(values[name]))),
        style="free",
    )


def check_table(checks: Sequence[CheckOutcome]) -> Table:
    """Every check with its outcome: those that did not pass first, those that do not apply last."""
    return Table(
        "checks",
        "",
        "All checks",
        ("check",),
        tuple(Column(Heading(text), kind="text") for text in ("about", "outcome", "what it asks", "what was found")),
        pivot(
            sorted(checks, key=lambda check: ("failed", "passed", "skipped").index(check.outcome)),
            lambda check: (check.title.replace("_", " "),),
            [
                lambda check: check.about,
                lambda check: check.outcome,
                lambda check: check.asks,
                lambda check: check.said or DASH,
            ],
            lambda check, say: text_cell(say(check), strong=check.outcome == "failed" and say(check) == "failed"),
        ),
        "Of the data, the warm-up, the filter and the models. Checks that do not apply are skipped and say why.",
        style="free",
    )
