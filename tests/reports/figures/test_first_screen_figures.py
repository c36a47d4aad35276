"""What the first screen draws: bars of accuracy, and rows with the cue marked."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rules.leaning import PropertyLeaning
from aflite_assets.reports.figures.accuracy_bars import accuracy_bars
from aflite_assets.reports.figures.cue_rows import cue_rows
from tests.planted_reports import report_inputs
from tests.reports.sentences.test_first_screen import cue


def test_bars_are_the_accuracies_on_all_rows(by_hand: BenchmarkData) -> None:
    bars = accuracy_bars(analyse(by_hand), "a", "p", ("test", "odd"))
    assert bars is not None
    test, odd = bars.groups
    assert (test.test_set, test.about) == ("test", "6 rows; chance 50.0 %")
    assert odd.about == "challenge set; 8 rows; chance 50.0 %"
    assert bars.compares
    assert bars.train_sets.startswith("“filtered” is the ")
    noted = accuracy_bars(analyse(by_hand), "a", "p", ("odd",), notes={"odd": "the cue tells nothing there"})
    assert noted is not None
    assert noted.groups[0].about == "challenge set; 8 rows; chance 50.0 %; the cue tells nothing there"
    assert [(bar.label, bar.mean) for bar in test.bars] == [
        ("all rows", 75.0),
        ("random rows", 58.3),
        ("filtered", 41.7),
    ]
    assert [bar.mean for bar in odd.bars] == [37.5, 18.8, 81.2]
    assert all(bar.low < (bar.mean or 0) < bar.high for group in bars.groups for bar in group.bars)
    assert bars.says.startswith("Accuracy of p by train set; on test: all rows 75.0 %, random rows 58.3 %")


def test_no_accuracy_is_no_chart(make_by_hand: Any) -> None:
    analysis = analyse(make_by_hand(cells=()))
    assert accuracy_bars(analysis, "a", "p", ("test",)) is None
    assert accuracy_bars(analysis, "unknown", "p", ("test",)) is None


def marked_texts(make_planted: Any, planted: BenchmarkData, name: str, text: str) -> Any:
    """The pieces of the first text of a train row that carries a cue of so named a property."""
    texts = pa.array([text] * len(planted.examples.table))
    column = planted.examples.table.column_names.index("text")
    table = planted.examples.table.set_column(column, "text", texts)
    inputs = report_inputs(make_planted(examples=replace(planted.examples, table=table)))
    source = inputs.source.named("text")
    (row,) = cue_rows(replace(inputs, cue_rows={0: [205]}), (cue(0, f"{name} ({source})", source),), None)
    return row.texts[0]


def test_the_part_that_carries_the_cue_is_marked(make_planted: Any, planted: BenchmarkData) -> None:
    assert marked_texts(make_planted, planted, "the words 'not the'", "Notable, but NOT the end.") == (
        ("Notable, but ", False),
        ("NOT the", True),
        (" end.", False),
    )
    assert marked_texts(make_planted, planted, "the word 'not'", "nothing") == (("nothing", False),)
    assert marked_texts(make_planted, planted, "ends with a letter or digit", "A fun film") == (
        ("A fun ", False),
        ("film", True),
    )
    pieces = marked_texts(make_planted, planted, "the word 'cue'", f"{'a ' * 200}cue{' b' * 200}")
    assert [text for text, marked in pieces if marked] == ["cue"]
    assert (pieces[0], pieces[-1]) == (("…", False), ("…", False))
    assert sum(len(text) for text, _ in pieces) < 250


def test_rows_of_several_cues_come_in_turn_with_the_value_marked(make_planted: Any, planted: BenchmarkData) -> None:
    genres = np.array(["fiction", "travel"] * 700, dtype=object)
    table = planted.examples.table.append_column("attribute.genre", pa.array(genres))
    inputs = report_inputs(make_planted(examples=replace(planted.examples, table=table)))
    cues = (cue(0, "genre = 'fiction'", "genre"), cue(1, "genre = 'travel'", "genre"))
    shown = cue_rows(replace(inputs, cue_rows={0: [200, 202], 1: [201, 203]}), cues, None)
    assert [row.row_id for row in shown] == [200, 201, 202]
    assert [row.values for row in shown] == [(("genre", "fiction"),), (("genre", "travel"),), (("genre", "fiction"),)]
    assert not any(row.contradicts for row in shown)
    against = replace(inputs, cue_rows={0: [200, 202, 204, 206]}, counterexamples={0: [208], 1: [209]})
    shown = cue_rows(against, cues, None)
    assert [(row.row_id, row.contradicts) for row in shown] == [(200, False), (202, False), (204, False), (208, True)]
    assert cue_rows(inputs, (), None) == ()
    names = planted.examples.label_names
    leaning = PropertyLeaning("attribute", "genre", "", ("travel",), (names[1],), None, 0.4, "bert", 90)
    (one,) = cue_rows(inputs, (), leaning)
    assert (one.label, one.values) == (names[1], (("genre", "travel"),))


def test_the_corner_of_a_patch_is_framed(make_planted: Any, image_examples: Any) -> None:
    inputs = report_inputs(make_planted(examples=image_examples(1400)))
    patch = cue(0, "bright patch of one colour in the top left corner", "", kind="image")
    (row,) = cue_rows(replace(inputs, cue_rows={0: [205]}), (patch,), None)
    assert row.corners == (("top left", True),)
    both = replace(patch, name=f"no dark patch of one colour in the bottom right corner and {patch.name}")
    (row,) = cue_rows(replace(inputs, cue_rows={0: [205]}), (both,), None)
    assert row.corners == (("bottom right", False), ("top left", True))
    assert str(row.image).startswith("data:image/jpeg")
