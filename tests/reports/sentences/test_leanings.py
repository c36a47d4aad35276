"""What models lean on, and falls on challenge sets, in words."""

from dataclasses import replace

import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rules.leaning import PropertyLeaning
from aflite_assets.reports.sentences.leaning import judgement_text, leaning_text
from aflite_assets.reports.tables.cells import property_name
from tests.planted_leanings import leaning_inputs
from tests.reports.sentences.test_verdict import alike, beginning, started, verdict_text

PLACE = PropertyLeaning(
    "attribute", "place", "", ("water",), ("bird",), None, 0.4, "svm", 90, 50.0, 40.0, 60.0, 2.0, adjusted_p=0.001
)


@pytest.mark.parametrize(
    ("one", "name"),
    [
        (PLACE, "the attribute place"),
        (replace(PLACE, kind="word", name="text", word="not"), "the word “not” of text"),
        (replace(PLACE, kind="topic word", name="text", word="film"), "the word “film” of text"),
        (replace(PLACE, kind="typography", name="line break (text)"), "“line break (text)”"),
        (replace(PLACE, kind="word group", name="negation such as 'no' (text)"), "“negation such as 'no' (text)”"),
        (replace(PLACE, kind="length", name="number of words of text"), "the number of words of text"),
        (replace(PLACE, kind="column", name="column 3"), "column 3"),
        (replace(PLACE, kind="column", name="record_no"), "the column record_no"),
    ],
)
def test_names(one: PropertyLeaning, name: str) -> None:
    assert property_name(one) == name


def test_a_leaning_says_how_it_was_shown_and_why_it_is_no_part_of_the_task() -> None:
    shown = (
        ": “svm” follows it to wrong classes 50.0 points more often, and 2.0 after training on rows in which it goes "
        "with no class"
    )
    assert leaning_text(PLACE) == f"models lean on the attribute place{shown}"
    artefact = replace(PLACE, reason="artefact")
    assert leaning_text(artefact) == f"models lean on the attribute place, an artefact by nature{shown}"
    broken = replace(PLACE, broken_on="hard", loss=12.5)
    assert (
        leaning_text(broken)
        == f"models lean on the attribute place{shown}. On “hard” it misleads, which costs 12.5 points"
    )
    fallen = replace(PLACE, reason="declared", pull=None, untied=None, fallen_on="clean", fall=35.26)
    assert leaning_text(fallen) == (
        "models lean on the attribute place, declared irrelevant: “svm” falls by 35.3 points on “clean”, where it is "
        "not tied to the class"
    )
    assert leaning_text(replace(fallen, fall_of="contradicting rows")) == (
        "models lean on the attribute place, declared irrelevant: on “clean”, “svm” is right 35.3 points less often "
        "where it misleads than where it does not"
    )


def test_the_reader_is_told_how_to_declare_it() -> None:
    assert judgement_text(PLACE).endswith("if not, add `irrelevant: [place]` to the file")
    assert "irrelevant" not in judgement_text(replace(PLACE, kind="word", word="not"))


def test_what_models_merely_lean_on_is_left_to_the_reader(planted: BenchmarkData) -> None:
    text = verdict_text(replace(started(planted), leanings=(leaning_inputs(planted, reason=None),)), "roberta")
    assert text.code == "leans_on"
    assert text.sentence.startswith("A shortcut or the task: models lean on the attribute mark: “linear” follows it")
    assert (
        "You decide whether they should: if not, add `irrelevant: [mark]` to the file. Trained on filtered instead "
        "of random, “linear” gains 11.0 points on “hans”." in text.sentence
    )
    assert "take the attribute" not in text.details[-1].text


def test_a_candidate_without_trainings_is_named_and_decides_nothing(planted: BenchmarkData) -> None:
    untrained = replace(leaning_inputs(planted), predicted={})
    text = verdict_text(replace(started(alike(planted)), leanings=(untrained,)), "roberta")
    assert text.code == "learnable_no_shortcut_shown"
    assert text.sentence.endswith("It cannot be told whether the attribute mark explains it.")
    assert beginning(text, "Independent").endswith(
        "It cannot be told whether models lean on the attribute mark: the trainings needed for it are missing. Run the "
        "missing cells."
    )
