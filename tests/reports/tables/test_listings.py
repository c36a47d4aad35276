from dataclasses import replace

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.filtering import ITERATIONS
from aflite_assets.analysis.inputs.learning_curve import LearningCurve
from aflite_assets.analysis.inputs.records import BenchmarkData, EvidenceTable
from aflite_assets.analysis.inputs.source_rows import SOURCE_PLACES, SourceRows
from aflite_assets.reports.sentences.summary import section_lines
from aflite_assets.reports.tables.listings import (
    CURVE_TABLE,
    ITERATION_TABLE,
    check_table,
    evidence_table,
    settings_table,
)

MINUS = "\N{MINUS SIGN}"


def test_checks_that_do_not_apply_are_skipped_and_stand_last(with_rows: BenchmarkData) -> None:
    shown = [(row.headings[0], row.cells[1].text) for row in check_table(with_rows.checks).rows]
    assert shown == [
        ("better than largest class (roberta)", "failed"), ("labels known", "passed"), ("images decode", "skipped"),
    ]  # fmt: skip


def test_the_line_of_the_checks_counts_those_that_apply(with_rows: BenchmarkData) -> None:
    assert section_lines(analyse(with_rows))["checks"] == (
        "1 of 2 checks did not pass: better than largest class (roberta). 1 skipped, as they do not apply."
    )


def test_iterations_name_scored_rows_where_there_are_any(planted: BenchmarkData) -> None:
    analysis = analyse(planted)
    (table,) = ITERATION_TABLE.tables(analysis)
    assert (table.rows[0].headings, [cell.text for cell in table.rows[0].cells]) == (
        ("0",), ["1200", "1200", "114", "114", "600", "57", "0.98", "0.82", "0"],
    )  # fmt: skip
    assert [cell.text for cell in table.rows[-1].cells] == ["402", "402", "0", "0", "201", "0", "none", "0.4", "0"]
    bare = tuple(replace(row, scored_rows_in=0) for row in analysis.of(ITERATIONS))
    (without,) = ITERATION_TABLE.tables(replace(analysis, tables={ITERATIONS.name: bare}))
    assert len(without.columns) == len(table.columns) - 2


def test_evidence_is_shown_as_it_is() -> None:
    arrow = pa.table({"the_word": ["a|b"] * 60, "z": [-1.5, None, *[2.0] * 58], "side": ["x"] * 60})
    table = evidence_table(EvidenceTable("Words", "Frequent.", arrow))
    assert (table.headings, [(one.heading.text, table.kind(one)) for one in table.columns]) == (
        ("the word",), [("z", "number"), ("side", "text")],
    )  # fmt: skip
    assert (table.rows[0].headings, [cell.plain for cell in table.rows[0].cells]) == (("a|b",), [f"{MINUS}1.5", "x"])
    assert table.rows[1].cells[0].text == "none"
    assert (len(table.rows), table.caption) == (60, "Frequent.")


def test_captions_have_no_names_of_columns_and_cues_are_brief() -> None:
    cues = pa.table(
        {
            "kind": ["word"], "name": ["text"], "value": ["not"], "label_name": ["no"], "class_share": [1.0],
            "rows": [12], "removed_rows": [9], "share_removed": [0.66312], "share_expected": [0.40521],
            "p_value": [1e-9], "classes": ["no 99.0 %, yes 1.0 %"], "share_kept": [0.005879],
            "adjusted_p": [2.5561e-200], "shown": [True],
        }
    )  # fmt: skip
    caption = "3 cues were tested. share_removed is of the removed train rows."
    table = evidence_table(EvidenceTable("Cues", caption, cues))
    assert [one.heading.text for one in table.columns] == [
        "name", "value", "class", "rows", "removed rows", "share of removed rows", "share of random rows",
        "of which classes", "share kept", "p (Holm)", "beyond chance",
    ]  # fmt: skip
    space = "\N{NO-BREAK SPACE}"
    assert [cell.text for cell in table.rows[0].cells] == [
        "text", "not", "no", "12", "9", f"66.3{space}%", f"40.5{space}%",
        "no 99.0 %, yes 1.0 %", f"0.6{space}%", f"2.6e{MINUS}200", "yes",
    ]  # fmt: skip
    assert table.rows[0].cells[5].value == 0.66312
    assert table.caption == "3 cues were tested. “share of removed rows” is of the removed train rows."
    planted = pa.table({"iteration": [0], "precision_by_chance": [0.5]})
    told = evidence_table(EvidenceTable("Planted", "Where precision falls to precision_by_chance.", planted)).caption
    assert told == "Where precision falls to “precision by chance”."


def test_rows_of_the_evidence_have_file_and_line() -> None:
    ids = np.array([7, 8])
    places = pa.table([ids, ["train"] * 2, ids, ["my.csv", None], pa.array([9, None])], schema=SOURCE_PLACES)
    arrow = pa.table({"row_id": [7, 8, 9], "label_probability": [0.1, 0.2, 0.3]})
    table = evidence_table(EvidenceTable("Possible label errors", "Read them.", arrow), SourceRows(places))
    assert table.headings == ("row",)
    assert [row.headings[0] for row in table.rows] == ["my.csv, line 9 (row 7)", "row 8", "row 9"]


def test_settings_are_names_and_values() -> None:
    table = settings_table("Settings", {"target_size": 12345, "flags": None})
    assert [(row.headings[0], row.cells[0].text) for row in table.rows] == [
        ("target_size", "12,345"),
        ("flags", "none"),
    ]


def test_points_of_learning_curves(by_hand: BenchmarkData) -> None:
    curve = LearningCurve("a", (40, 80), (50, 90), 100, 34)
    (table,) = CURVE_TABLE.tables(analyse(replace(by_hand, warmup_curves=(curve,))))
    assert [row.cells[3].value for row in table.rows] == [0.5, 0.9]
    assert [[cell.text for cell in row.cells[-2:]] for row in table.rows] == [["no", "no"], ["yes", "yes"]]
