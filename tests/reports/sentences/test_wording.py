from typing import Any, Literal

import numpy as np
import pytest

from aflite_assets.reports.inputs.records import TestSet
from aflite_assets.reports.intervals import CrossedInterval
from aflite_assets.reports.scores.accuracy import MissingScore, score
from aflite_assets.reports.scores.verdicts import Verdict
from aflite_assets.reports.sentences.wording import (
    interval_points,
    paired_text,
    set_notes,
    short_seeds_text,
    verdict_text,
)

NLI = ("entailment", "neutral", "contradiction")
BY_LABEL = "The predicted label is mapped (collapse: label): "
BY_PROBABILITY = (
    "Probabilities of labels that count as one are added up, and the largest sum is the prediction "
    "(collapse: probability): "
)


def challenge(
    own: tuple[str, ...], class_map: list[int] | None, collapse: Literal["label", "probability"] = "label", **more: Any
) -> TestSet:
    given = None if class_map is None else np.array(class_map)
    return TestSet("c", True, np.arange(2), np.array([0, 1]), own, {}, class_map=given, collapse=collapse, **more)


@pytest.mark.parametrize(
    ("own", "class_map"), [(NLI, None), (NLI, [0, 1, 2]), (("contradiction", "entailment", "neutral"), [1, 2, 0])]
)
def test_labels_that_count_as_themselves_need_no_words(own: tuple[str, ...], class_map: list[int] | None) -> None:
    assert set_notes(challenge(own, class_map), NLI) == ()


@pytest.mark.parametrize(
    ("class_map", "collapse", "text"),
    [
        ([0, 1, 1], "label", f"{BY_LABEL}entailment counts as yes; neutral and contradiction count as no."),
        ([0, 1, 1], "probability", f"{BY_PROBABILITY}entailment counts as yes; neutral and contradiction count as no."),
        (
            [0, -1, 1],
            "label",
            f"{BY_LABEL}entailment counts as yes; contradiction counts as no; "
            "neutral counts as none of this set's labels and is always wrong.",
        ),
        (
            [0, -1, 1],
            "probability",
            f"{BY_PROBABILITY}entailment counts as yes; contradiction counts as no; "
            "neutral counts as none of this set's labels and is left out.",
        ),
    ],
)
def test_maps_are_put_into_words(class_map: list[int], collapse: Any, text: str) -> None:
    assert set_notes(challenge(("yes", "no"), class_map, collapse), NLI) == (text,)


def test_a_renaming_is_mapped_by_label_whatever_collapse_says() -> None:
    own = ("e", "n", "c")
    (note,) = set_notes(challenge(own, [0, 1, 2], "probability"), NLI)
    assert note == f"{BY_LABEL}entailment counts as e; neutral counts as n; contradiction counts as c."


def test_many_labels_are_counted_not_listed() -> None:
    names = tuple(f"class{number}" for number in range(1000))
    (note,) = set_notes(challenge(names[:200], [*range(200), *[-1] * 800], "probability"), names)
    assert note == (
        f"{BY_PROBABILITY}200 labels count as those of the same name; class200, class201, class202, class203, "
        "class204, class205, class206, class207 and 792 more count as none of this set's labels and are left out."
    )


def test_other_notes_come_first() -> None:
    notes = set_notes(challenge(("yes", "no"), [0, 1, 1], notes=("The spec limits it to 2 of 9 rows.",)), NLI)
    assert notes[0] == "The spec limits it to 2 of 9 rows."
    assert len(notes) == 2


def test_deviations_are_short_only_where_every_seed_finished() -> None:
    one, other = np.array([True, False]), np.array([True, True])
    everything = np.ones(2, dtype=bool)
    assert short_seeds_text(score([one, other], everything, None)) == "±35.4"
    assert short_seeds_text(score([one], everything, None)) == "one seed"
    assert short_seeds_text(score([one, other, MissingScore("not run")], everything, None)) == "±35.4 over 2 of 3 seeds"
    assert short_seeds_text(score([], everything, None)) == "not run"


def crossed(difference: float, low: float, high: float, *, trainings: int = 3) -> CrossedInterval:
    return CrossedInterval(difference, low, high, 0.1, 8.0, (trainings, 3), 50, 50.0, trainings > 1)


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (crossed(2.04, -0.5, 3.46), "2.0 points above, 95 % [\N{MINUS SIGN}0.5, 3.5]"),
        (crossed(-1.0, -2.0, -0.04), "1.0 points below, 95 % [\N{MINUS SIGN}2.0, 0.0]"),
        (crossed(0.04, -1.0, 1.0), "no difference, 95 % [\N{MINUS SIGN}1.0, 1.0]"),
        (crossed(2.0, 1.0, 3.0, trainings=1), "2.0 points above, 95 % of test rows alone [1.0, 3.0]"),
    ],
)
def test_paired_differences_in_words(interval: CrossedInterval, text: str) -> None:
    assert paired_text(interval) == text


def test_an_interval_of_one_training_says_so_in_tables() -> None:
    assert interval_points(crossed(2.0, 1.0, 3.0)) == "2.0 [1.0, 3.0]"
    assert interval_points(crossed(2.0, 1.0, 3.0, trainings=1)) == "2.0 [1.0, 3.0], rows alone"
    assert interval_points(None) == "\N{EN DASH}"


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (Verdict("above", None), "above"),
        (Verdict("open", "under 1 point"), "open: under 1 point"),
        (Verdict(None, "one seed"), "no verdict: one seed"),
    ],
)
def test_verdicts_in_words(verdict: Verdict, text: str) -> None:
    assert verdict_text(verdict) == text
