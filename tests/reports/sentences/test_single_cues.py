"""Cues of the scan in the verdict: which become its first line, which are left to the reader, and in what words."""

from dataclasses import replace

import pytest

from aflite_assets.analysis.comparisons.filtering_verdict import artefacts_seen
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.scan.cues import Cue, CueProperty
from tests.planted_cues import ORDER, STOP, WORD, scanned
from tests.planted_leanings import leaning_inputs
from tests.reports.sentences.test_verdict import WORD as HINT
from tests.reports.sentences.test_verdict import alike, beginning, started, verdict_text, with_cues

BESIDE = "These single properties tell a class (balanced accuracy, where chance is 50 %). "


@pytest.mark.parametrize(
    ("cues", "spread", "names"),
    [
        ((), 0.4, ()),
        ((WORD,), 0.4, ()),
        ((STOP, WORD), 0.4, (STOP.name,)),
        ((ORDER,), 0.6, ()),  # no model sees where a row stands; it explains why all together tell the label
        ((replace(STOP, explained_by=1), WORD), 0.4, ()),
        ((), 0.6, ("all artefacts together",)),
    ],
)
def test_artefacts_that_models_can_see_count(cues: tuple[Cue, ...], spread: float, names: tuple[str, ...]) -> None:
    assert artefacts_seen(scanned(*cues, spread=spread)) == names
    assert artefacts_seen(None) == ()


def test_an_artefact_is_the_first_line_and_data_are_mended_first(planted: BenchmarkData) -> None:
    text = verdict_text(replace(started(alike(planted)), scan=scanned(STOP, WORD)), "roberta")
    assert text.code == "artefact_tells"
    assert text.sentence.startswith(
        "An artefact tells the label: “ends without a full stop (text)” for “contradiction”, 75.0 % balanced "
        "accuracy by itself, where chance is 50 %. It was not tested whether models lean on it, because at most "
        "three properties are tested, and declared ones come first."
    )
    assert (
        beginning(text, "These single")
        == f"{BESIDE}Yours to judge: “the word 'not' (text)” for “contradiction”, 68.2 %."
    )
    assert beginning(text, "Use").startswith("Use: first remove it from the source, then run again")


@pytest.mark.parametrize(
    ("kind", "name", "cue"),
    [
        ("typography", STOP.name, STOP),
        (
            "attribute",
            "mark",
            replace(STOP, name="mark = 'yes'", properties=(CueProperty("attribute", "mark = 'yes'", "mark"),)),
        ),
    ],
)
def test_an_artefact_that_models_do_not_lean_on_is_named_all_the_same(
    kind: str, name: str, cue: Cue, planted: BenchmarkData
) -> None:
    one = leaning_inputs(planted, reason=None)
    tied = {test: values for (train_set, test), values in one.predicted.items() if train_set == "tied"}
    alike_trained = {key: tied[key[1]] for key in one.predicted}  # so that nothing goes with the tie
    unmoved = replace(one, of=replace(one.of, name=name, kind=kind), predicted=alike_trained)
    text = verdict_text(replace(started(alike(planted)), scan=scanned(cue), leanings=(unmoved,)), "roberta")
    assert (text.code, "Models are not shown to lean on it; only “" in text.sentence) == (
        "artefact_tells",
        True,
    )


def test_an_artefact_that_no_single_row_shows_is_not_left_to_the_reader(planted: BenchmarkData) -> None:
    text = verdict_text(replace(started(alike(planted)), scan=scanned(ORDER)), "roberta")
    assert (text.code, text.sentence.split(":")[0]) == (
        "learnable_no_shortcut_shown",
        "Learnable, but an artefact tells the label",
    )
    assert text.sentence.endswith(
        f"Of single properties “{ORDER.name}” for “contradiction”, 75.0 %, tells most; it is no part of the task."
    )


def test_without_an_artefact_the_strongest_property_is_named_and_left_to_the_reader(planted: BenchmarkData) -> None:
    text = verdict_text(replace(started(alike(planted)), scan=scanned(WORD, ORDER)), "roberta")
    assert text.code == "learnable_no_shortcut_shown"
    assert (
        "Of single properties “the word 'not' (text)” for “contradiction”, 68.2 %, tells most; you decide whether it "
        "belongs to the task." in text.sentence
    )
    assert beginning(text, "These single") == (
        f"{BESIDE}No part of any task: “{ORDER.name}” for “contradiction”, 75.0 %. Yours to judge: “the word 'not' "
        "(text)” for “contradiction”, 68.2 %."
    )


def test_nothing_found_by_the_scan_is_said_with_the_number_of_properties(planted: BenchmarkData) -> None:
    text = verdict_text(replace(started(alike(planted)), scan=scanned()), "roberta")
    assert text.sentence.endswith("None of 830 single properties tells a class by itself.")
    assert not [one for one in text.details if one.section == "cues"]


def test_what_is_spread_over_many_artefacts_has_no_name(planted: BenchmarkData) -> None:
    text = verdict_text(replace(started(alike(planted)), scan=scanned(spread=0.6)), "roberta")
    assert text.code == "artefact_tells"
    assert "no single artefact does, but a linear model of all of them does" in text.sentence


def test_a_property_that_models_were_tested_for_is_not_named_twice(planted: BenchmarkData) -> None:
    of_mark = (CueProperty("attribute", "mark = 'yes'", "mark"),)
    mark = replace(STOP, name="mark = 'yes'", kind="attribute", properties=of_mark)
    text = verdict_text(replace(started(planted), scan=scanned(mark), leanings=(leaning_inputs(planted),)), "roberta")
    assert text.code.startswith("shortcut_found")
    assert not [one for one in text.details if one.section == "cues"]


def test_the_first_candidate_of_the_scan_is_yours_to_judge_before_a_hint(planted: BenchmarkData) -> None:
    easy = replace(planted, test_sets=tuple(test for test in planted.test_sets if not test.challenge))
    letters = replace(WORD, number=2, name="begins with 'A' (text)", balanced=0.7)
    told = replace(with_cues(started(easy), replace(HINT, class_share=0.99)), scan=scanned(WORD, letters))
    assert verdict_text(told, "roberta").sentence.endswith(
        "Yours to judge: “the word 'not' (text)” for “contradiction”, 68.2 % balanced accuracy by itself, where chance "
        "is 50 %. It was not tested whether models lean on it, because at most three properties are tested, and "
        "declared ones come first."
    )
