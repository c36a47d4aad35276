"""Cues of the removed rows and planted rows in words, and where a report shows them."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.cues import PlantedRemoval, RemovedCue, read_cues
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.sentences.filtering import cue_name, cue_text, cues_caption, numbered_cue, planted_sentence
from aflite_assets.reports.sentences.summary import findings
from tests.planted_reports import rendered_page, report_document

pytestmark = pytest.mark.usefixtures("undrawn")

ROW = {"kind": "word", "name": "text_pair", "value": "not", "label_name": "contradiction", "class_share": 0.8,
       "rows": 50, "removed_rows": 40, "share_removed": 0.4, "share_expected": 0.2, "p_value": 0.01,
       "class_shares": [], "same_rows_as": None}  # fmt: skip


REMOVAL = PlantedRemoval("roberta", "mark", ("right",), 1200, 780, 800, 720)


def _read(*rows: dict[str, object]) -> tuple[RemovedCue, ...]:
    return read_cues(pa.Table.from_pylist([{**ROW, **row} for row in rows]))


def test_cues_in_words() -> None:
    (word,) = _read({})
    assert cue_text(word) == (
        "the word “not” of text_pair, with contradiction in 80.0 % of its 50 rows. Of the removed rows 40.0 % "
        "have it and a class that it goes with, against 20.0 % of random rows"
    )
    assert cue_name(replace(word, kind="attribute", name="mark", value="right")) == "mark = right"
    alone = replace(word, kind="partial input", name="text_pair", value="", label_name=None)
    assert cue_text(alone).startswith("text_pair alone is right for 40.0 % of the removed rows")


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("column", "Sr", "rows whose label the column Sr alone predicts (50 rows, 20.0 % kept)"),
        ("column", "column 14", "rows whose label column 14 alone predicts (50 rows, 20.0 % kept)"),
        ("partial input", "text_pair", "rows whose label text_pair alone predicts (50 rows, 20.0 % kept)"),
    ],
)
def test_rows_that_one_input_predicts_are_not_named_like_a_cue(kind: Any, name: str, said: str) -> None:
    (word,) = _read({"class_shares": [0.7, 0.3]})
    cue = replace(word, kind=kind, name=name, value="", label_name=None)
    assert numbered_cue(cue, ("contradiction", "entailment")) == said


def test_the_caption_counts_what_was_tested() -> None:
    assert cues_caption(_read({}, {"p_value": 0.9})).startswith(
        "Of 2 tested cues, 1 is beyond chance (Holm, 5 %). Most telling: the word “not” of text_pair"
    )
    assert "Most telling" not in cues_caption(_read({"p_value": 0.9}))


def test_sentence() -> None:
    assert planted_sentence(REMOVAL) == (
        "Of the 1,200 train rows that entered filtering with roberta 780 were planted with a shortcut (mark right). It "
        "removed 800: 90.0 % of these were planted (precision; by chance 65.0 %), and 92.3 % of all planted ones were "
        "among them (recall; by chance 66.7 %)."
    )


def test_sentences_without_planted_or_removed_rows() -> None:
    none = replace(REMOVAL, planted_rows=0, removed_planted_rows=0, values=("a", "b"))
    assert (none.precision_by_chance, none.recall) == (0.0, None)
    assert planted_sentence(none).endswith(
        "none was planted with a shortcut (mark a and b), so precision and recall cannot be computed."
    )
    kept = replace(REMOVAL, removed_rows=0, removed_planted_rows=0)
    assert kept.precision is None
    assert planted_sentence(kept).endswith("(mark right). No row was removed.")


def test_the_report_says_it_after_the_filtering(planted: BenchmarkData) -> None:
    data = replace(planted, planted=(REMOVAL, replace(REMOVAL, representation="another")))
    said = findings(analyse(data))
    assert said[0].startswith("Filtering with representation roberta")
    assert said[1] == planted_sentence(REMOVAL)
    assert len([line for line in said if "planted with a shortcut" in line]) == 1
    assert planted_sentence(REMOVAL) in rendered_page(data)


def test_values_are_shown_as_text(planted: BenchmarkData) -> None:
    hostile = replace(REMOVAL, values=("<script>alert(1)</script>", "x" * 100))
    page = rendered_page(replace(planted, planted=(hostile,)))
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "x" * 60 not in page


def test_json_has_counts_and_shares(planted: BenchmarkData) -> None:
    written: Any = report_document(replace(planted, planted=(REMOVAL,)))
    (one,) = written["tables"]["planted"]
    assert one["values"] == ["right"]
    assert (one["removed_planted_rows"], one["precision"]) == (720, 0.9)
    assert one["recall"] == pytest.approx(0.923, abs=1e-3)
