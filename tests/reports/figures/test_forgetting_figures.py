"""Figures 3 and 5 of EACL 2021 from the tidy tables of second phases."""

from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.analysis.analysis import Analysis, analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.weak_models import SecondPhase
from aflite_assets.analysis.scores.score_tables import ACCURACIES, Accuracy
from aflite_assets.reports.figures import drawing
from aflite_assets.reports.figures.drawing import MAX_BYTES, Picture
from aflite_assets.studies.forgettables.reports.figures import forgettable_pictures

PRINTED = {
    "bert_base": (84.4, 62.9),
    "bert_base_bilstm": (82.9, 70.4),
    "bert_base_bow": (83.1, 70.5),
    "xlnet_large": (89.0, 76.1),
    "xlnet_large_bow": (88.0, 83.1),
}
"""MultiNLI and HANS in the text and Table 4 of the paper; MultiNLI of XLNet-large is made up, as it is only drawn."""

CATEGORIES = "categories.net.hans"


def as_printed(data: BenchmarkData) -> Analysis:
    """The planted analysis with the paper's models and their accuracies in place of its second phases."""
    analysis = analyse(data)
    of_net = [one for one in analysis.of(ACCURACIES) if one.evaluator == "net" and one.train_set == "full"]
    pattern = {one.test_set: one for one in of_net if one.whole}
    rows = [
        replace(pattern[test_set], evaluator=name, accuracy=mean / 100)
        for name, means in PRINTED.items()
        for test_set, mean in zip(("test", "hans"), means, strict=True)
    ]
    phases = {
        name: SecondPhase(start, ("forgettable rows of bow",), "bow", "forgettable")
        for start, name in (
            ("bert_base", "bert_base_bilstm"),
            ("bert_base", "bert_base_bow"),
            ("xlnet_large", "xlnet_large_bow"),
        )
    }
    facts = replace(analysis.facts, phases=phases)
    return replace(analysis, facts=facts, tables={**analysis.tables, ACCURACIES.name: tuple(rows), "thresholds": ()})


@pytest.fixture
def drawn(monkeypatch: Any) -> dict[str, Any]:
    """The figures that were drawn, by the beginning of what they say."""
    figures: dict[str, Any] = {}
    draw = drawing.picture

    def kept(figure: Any, alt: str, **options: Any) -> Picture:
        figures[alt] = figure
        return draw(figure, alt, **options)

    monkeypatch.setattr(drawing, "picture", kept)
    return figures


def test_figure_5_has_each_model_before_and_after(forgotten: BenchmarkData, drawn: dict[str, Any]) -> None:
    picture = forgettable_pictures(as_printed(forgotten))["second_phases"]
    assert picture.alt == (
        "Accuracy on test and on hans before and after a second phase: bert_base 84.4 and 62.9 %, xlnet_large 89.0 and "
        "76.1 %, bert_base_bilstm 82.9 and 70.4 %, bert_base_bow 83.1 and 70.5 % and xlnet_large_bow 88.0 and 83.1 %"
    )
    (axes,) = drawn[picture.alt].axes
    moved = [line.get_xydata().round(1).tolist() for line in axes.get_lines() if len(line.get_xydata()) == 2]
    assert moved == [
        [[84.4, 62.9], [82.9, 70.4]], [[84.4, 62.9], [83.1, 70.5]], [[89.0, 76.1], [88.0, 83.1]],
    ]  # fmt: skip
    # "XLNet-large + F(BoW) shows a +7 % increase in performance, reaching 83.1 % on HANS"
    assert [round(end[1] - start[1], 1) for start, end in moved][-1] == 7.0
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("accuracy on test (%)", "accuracy on hans (%)")
    assert len(picture.png) < MAX_BYTES


def test_figure_5_is_left_out_without_a_challenge_set(forgotten: BenchmarkData) -> None:
    natural = replace(forgotten, test_sets=tuple(one for one in forgotten.test_sets if not one.challenge))
    pictures = forgettable_pictures(analyse(natural))
    assert "second_phases" not in pictures
    assert CATEGORIES not in pictures


def by_half(analysis: Analysis) -> dict[tuple[str, str], list[Accuracy]]:
    """Accuracies of `net` and its phases on `hans` by gold label and evaluator, in the order of the heuristics."""
    found: dict[tuple[str, str], list[Accuracy]] = {}
    for one in analysis.of(ACCURACIES):
        trained = one.representation is None and one.train_set == "full"
        if trained and one.test_set == "hans" and one.column == "heuristic" and one.label:
            found.setdefault((one.label, one.evaluator), []).append(one)
    return found


def test_figure_3_has_each_heuristic_by_gold_label(forgotten: BenchmarkData, drawn: dict[str, Any]) -> None:
    analysis = analyse(forgotten)
    picture, stored = forgettable_pictures(analysis)[CATEGORIES], by_half(analysis)
    panels = [panel for panel in drawn[picture.alt].axes if panel.get_visible()]
    assert [panel.get_title() for panel in panels] == ["entailment", "non-entailment"]
    for panel in panels:
        assert [label.get_text() for label in panel.get_xticklabels()] == [
            "constituent",
            "lexical_overlap",
            "subsequence",
        ]
        for bars in panel.containers:
            of_one = stored[panel.get_title(), bars.get_label()]
            assert bars.lines[0].get_ydata().tolist() == pytest.approx([100 * (one.accuracy or 0.0) for one in of_one])
            assert len(of_one) == 3
    assert [bars.get_label() for bars in panels[0].containers] == list(dict.fromkeys(name for _, name in stored))
    first = stored["entailment", "net"][0]
    assert picture.alt.startswith(
        "Accuracy on hans by category and gold label with 95 % intervals; net on constituent, entailment: "
        f"{100 * (first.accuracy or 0.0):.1f} %; "
    )
    assert len(picture.png) < MAX_BYTES


def test_figure_3_needs_categories_and_gold_labels(forgotten: BenchmarkData) -> None:
    plain = tuple(replace(one, categories={}) for one in forgotten.test_sets)
    assert CATEGORIES not in forgettable_pictures(analyse(replace(forgotten, test_sets=plain)))
