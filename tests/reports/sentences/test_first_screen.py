"""The sentences of a report's first screen, and the tone that a person sees first."""

from dataclasses import replace
from typing import Any, get_args

import pytest

from aflite_assets.analysis.analysis import Analysis, analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rules.dataset_verdict import Code
from aflite_assets.analysis.rules.leaning import PropertyLeaning
from aflite_assets.checks import CheckOutcome
from aflite_assets.reports.sentences.first_screen import BADGES, SIGNS, TONES, first_screen
from aflite_assets.scan.cues import ClassSize, Cue, CueProperty, ScanFacts

PLACE = PropertyLeaning(
    "attribute", "place", "", ("water",), ("bird",), None, 0.4, "bert", 90, 50.0, 40.0, 60.0, 2.0, adjusted_p=0.001
)


def cue(number: int, name: str, source: str, *, kind: str = "attribute") -> Cue:
    """An artefact that names entailment."""
    numbers = (60, 0.6, 0.1, 0.8, 0.5, 0.75, 0.7, 0.8, 0.001)
    return Cue(number, name, kind, "declared", "entailment", *numbers, properties=(CueProperty(kind, name, source),))


def judged(analysis: Analysis, code: Code, *, leaning: PropertyLeaning | None = None, cues: Any = ()) -> Analysis:
    """The analysis with another verdict and scan."""
    first, *others = analysis.verdicts
    evidence = replace(
        first.verdict.evidence,
        leanings=() if leaning is None else (leaning,),
        artefacts=tuple(one.name for one in cues),
    )
    verdict = replace(first.verdict, code=code, evidence=evidence)
    scan = ScanFacts(tuple(cues), None, (ClassSize("entailment", 400, 0.6),), 1200, 1200, 40, ())
    return replace(analysis, verdicts=(replace(first, verdict=verdict), *others), scan=scan)


@pytest.fixture(scope="module")
def analysis(planted: BenchmarkData) -> Analysis:
    return analyse(planted)


def test_every_code_has_a_tone_and_each_tone_words_and_a_sign_of_its_own() -> None:
    assert set(TONES) == set(get_args(Code))
    assert set(TONES.values()) == set(BADGES) == set(SIGNS)
    assert len(set(BADGES.values())) == len(set(SIGNS.values())) == 3


def test_a_shortcut_has_its_price_and_the_command_that_mends_it(analysis: Analysis) -> None:
    cues = (cue(3, "place = 'water'", "place"), cue(5, "place = 'land'", "place"), cue(6, "other", "other"))
    declared = replace(PLACE, reason="declared")
    screen = first_screen(judged(analysis, "shortcut_found", leaning=declared, cues=cues), from_files=True)
    assert (screen.tone, screen.badge) == ("found", "Finding")
    assert screen.finding == (
        "Shortcut: the attribute place. Models lean on it: “bert” follows it to wrong classes 50.0 points more often, "
        "but 2.0 if trained on rows in which it goes with no class."
    )
    assert screen.to_do.startswith("Take the attribute place out of the rows if you can, or collect rows")
    assert screen.command == "aflite fix toy_nli.yaml --cue 4 --cue 6 --to NEW_FOLDER"
    assert [one.number for one in screen.cues] == [3, 5]
    assert screen.evaluator == "bert"


def test_a_shortcut_of_rows_from_no_file_has_no_command_that_could_not_run(analysis: Analysis) -> None:
    found = judged(analysis, "shortcut_found", leaning=replace(PLACE, reason="declared"), cues=(cue(3, "x", "place"),))
    assert "aflite fix" not in first_screen(found, from_files=False).command


def test_what_models_lean_on_is_a_persons_to_judge(analysis: Analysis) -> None:
    screen = first_screen(judged(analysis, "leans_on", leaning=PLACE), from_files=True)
    assert screen.finding.endswith("Whether that is a shortcut is yours to say.")
    assert screen.to_do == "If it is no part of the task, add `irrelevant: [place]` to the file and judge again."
    assert screen.command == "aflite refresh toy_nli"


def test_an_artefact_is_named_with_its_accuracy(analysis: Analysis) -> None:
    found = judged(analysis, "artefact_tells", cues=(cue(0, "no full stop (text)", "text", kind="typography"),))
    screen = first_screen(found, from_files=True)
    assert screen.finding == (
        "Artefact: “no full stop (text)” for “entailment”, 75.0 % balanced accuracy by itself, where chance is 50 %. "
        "Whether models lean on it is open."
    )
    assert screen.command == "aflite fix toy_nli.yaml --cue 1 --to NEW_FOLDER"


def test_limits_name_failed_checks_and_few_seeds(make_planted: Any, planted: BenchmarkData) -> None:
    checks = (
        CheckOutcome("filter", "no_cautions", "It has none.", False, "Two classes moved."),
        CheckOutcome("data", "no_artefact_tells", "None does.", False, "Found one."),
        CheckOutcome("data", "labels_known", "They are.", True),
    )
    one_seed = tuple(cell for cell in planted.cells if cell.seed == 0)
    screen = first_screen(analyse(make_planted(checks=checks, cells=one_seed)), from_files=False)
    texts = [one.text for one in screen.limits]
    assert texts[0] == "Check “no cautions” failed: Two classes moved."
    assert not any("Found one" in text for text in texts)
    assert f"“{screen.evaluator}” was trained with one seed only, so how much training moves it is unknown." in texts
    told = first_screen(analyse(make_planted(checks=checks[1:])), from_files=False)
    assert told.limits[-1].text.endswith("per train set.")
    whole = first_screen(analyse(make_planted(checks=checks[2:])), from_files=False)
    assert whole.limits[-1].text.startswith("It rests on 3 trainings of “")
    assert whole.limits[-1].text.endswith("per train set; every check that applies passed.")


def test_without_a_filtering_there_is_no_finding(make_planted: Any) -> None:
    screen = first_screen(analyse(make_planted(cells=(), filtered=())), from_files=False)
    assert (screen.tone, screen.finding) == ("unknown", "No filtering was run, so there is no finding.")
    assert screen.about == (
        "Can models solve toy_nli (1,400 train rows, 3 classes) by a shortcut, that is, by a cue that gives the label "
        "away without the task being solved?"
    )
