"""The pictures of two features: which points, which accuracies stand beside them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.figures.drawing import Picture
from aflite_assets.reports.figures.representation_figures import (
    _notes,
    compared_accuracies,
    scatter_caption,
    scatter_pictures,
)
from tests.planted_reports import report_inputs


@pytest.fixture(scope="module")
def points(make_planted: Callable[..., BenchmarkData], feature_examples: Callable[..., Any]) -> BenchmarkData:
    return make_planted(examples=feature_examples(1400, 3))


def drawn(data: BenchmarkData) -> tuple[Picture, Picture]:
    pictures = scatter_pictures(
        report_inputs(data, (0, 2)), data.filtered[0].rows, compared_accuracies(analyse(data), "roberta")
    )
    assert list(pictures) == ["before", "after"]
    return pictures["before"], pictures["after"]


def test_the_accuracies_are_of_both_ends_and_of_random(planted: BenchmarkData) -> None:
    three = compared_accuracies(analyse(planted), "roberta")[0]
    assert [(one.evaluator, one.train_set, one.test_set, one.tested_on) for one in three] == [
        ("linear", "full", "test", "full"), ("linear", "random", "test", "full"),
        ("linear", "filtered", "test", "filtered"),
    ]  # fmt: skip
    assert [one.accuracy for one in three] == pytest.approx([0.78, 0.736, 0.7])


def test_accuracies_stand_at_the_pictures(points: BenchmarkData) -> None:
    before, after = drawn(points)
    assert before.alt == (
        "Before filtering: 1,200 train rows, feature 0 against feature 2, coloured by class. trained on full, tested "
        "on full rows of test: linear 78.0 %, forest 83.0 %"
    )
    assert after.alt == (
        "After filtering: 402 train rows, feature 0 against feature 2, coloured by class. trained on filtered, "
        "tested on filtered rows of test: linear 70.0 %, forest failed"
    )


def test_long_names_take_a_line_more(points: BenchmarkData) -> None:
    longer = {name: f"{name}_that_does_not_see_any_of_the_biases" for name in ("linear", "forest")}
    cells = [replace(cell, evaluator=longer[cell.evaluator]) for cell in points.cells if cell.evaluator in longer]
    data = replace(points, cells=tuple(cells))
    notes = _notes("full", compared_accuracies(analyse(data), "roberta"))
    assert [line.partition(" ")[0] for line in notes[1:]] == list(longer.values())


def test_the_caption_has_random_and_the_rows_tested(points: BenchmarkData) -> None:
    caption = scatter_caption(analyse(points), "roberta")
    assert (
        "tested on all 1,000 rows of test. The second is of models trained on filtered and tested on the 400 of them"
        in caption
    )
    assert caption.endswith("reach on all rows: linear 73.6 % and forest not run.")


def test_nothing_trained_leaves_the_points(
    make_planted: Callable[..., BenchmarkData], feature_examples: Callable[..., Any]
) -> None:
    data = make_planted(examples=feature_examples(1400, 3), cells=())
    assert drawn(data)[0].alt.endswith("coloured by class")
    assert scatter_caption(analyse(data), "roberta") == ""
