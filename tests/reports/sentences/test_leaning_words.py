"""Whether models lean on a property has one of four answers, in the same words wherever it is asked."""

from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.analysis.rules.leaning import PropertyLeaning, WhyUntold
from aflite_assets.reports.sentences.leaning import (
    LEANS,
    NOT_TESTED,
    cue_leaning,
    leanings_line,
    untested_text,
    untold_text,
)
from aflite_assets.scan.cues import Cue, CueProperty

DESK = Cue(
    0, "desk is 'a' or 'b'", "attribute", None, "late", 600, 0.7, 0.01, 0.94, 0.17, 0.85, 0.83, 0.87, 0.001,
    properties=(CueProperty("attribute", "desk", "desk"),),
)  # fmt: skip
TESTED = PropertyLeaning("attribute", "desk", "", ("a",), ("late",), None, 0.5, "linear", 400, adjusted_p=0.01)
NOT_SEEN = replace(TESTED, adjusted_p=0.4)
FEW = replace(TESTED, adjusted_p=None, carriers=29, why="few carriers")


UNTESTED = (
    "It was not tested whether models lean on it, because at most three properties are tested, and declared ones come "
    "first. If it is no part of the task, add `irrelevant: [desk]` to the dataset's file and run again."
)


@pytest.mark.parametrize(
    ("leanings", "said"),
    [
        ((), UNTESTED),
        ((replace(TESTED, name="site"),), UNTESTED),
        ((NOT_SEEN, TESTED), LEANS),
        ((FEW, NOT_SEEN), "Models are not shown to lean on it; only “linear” was tested."),
        (
            (FEW,),
            "It cannot be told whether models lean on it: only 29 test rows of other classes have it, and 30 are "
            "needed. Add test rows, or a challenge set in which it goes with other classes.",
        ),
        ((replace(FEW, why=None),), "It cannot be told whether models lean on it."),
    ],
)
def test_a_cue_of_the_scan_has_one_of_four_answers(leanings: tuple[PropertyLeaning, ...], said: str) -> None:
    assert cue_leaning(DESK, leanings) == said


@pytest.mark.parametrize(
    ("kind", "name", "word", "scanned"),
    [
        ("topic word", "caption", "two", "the word 'two' (caption)"),
        ("length", "number of words of caption", "", "words of caption"),
        ("length", "difference in words, claim less evidence", "", "words of claim less those of evidence"),
    ],
)
def test_a_word_and_a_length_are_known_by_the_scans_name(kind: str, name: str, word: str, scanned: str) -> None:
    cue = replace(DESK, name=f"{scanned}, more", properties=(CueProperty("any", scanned, ""),))
    assert cue_leaning(cue, [replace(TESTED, kind=kind, name=name, word=word)]) == LEANS
    assert cue_leaning(cue, [replace(TESTED, kind=kind, name=f"{name}s", word=word)]).startswith(NOT_TESTED)


def _of_kind(kind: str, source: str = "days", **changes: Any) -> Cue:
    return replace(DESK, kind=kind, properties=(CueProperty(kind, "days at least 2", source),), **changes)


@pytest.mark.parametrize(
    ("cue", "said"),
    [
        (
            _of_kind("column"),
            ", because a feature column is tested only if it is declared. If it is no part of the task, add "
            "`irrelevant: [days]` to the dataset's file and run again.",
        ),
        (
            _of_kind("missing values", reason="artefact"),
            ", because at most three properties are tested, and declared ones come first. To have it tested, add "
            "`irrelevant: [days]` to the dataset's file and run again.",
        ),
        (_of_kind("column", reason="declared"), ", because at most three properties are tested."),
        (_of_kind("image", ""), ", because the look of an image is usually its content."),
        (
            _of_kind("words", "text"),
            ", because at most three properties are tested, and declared ones come first. To have it tested, add an "
            "attribute that states which rows have the cue, and declare it irrelevant.",
        ),
    ],
)
def test_a_cue_that_was_not_tested_says_why_and_what_to_do(cue: Cue, said: str) -> None:
    assert untested_text(cue) == f"It was not tested whether models lean on it{said}"


def test_a_cue_that_no_model_can_see_and_a_cue_of_answers_are_not_to_be_declared() -> None:
    assert untested_text(_of_kind("order", "")) == "Models cannot see it in a single row."
    assert cue_leaning(_of_kind("words", "text"), (), of_answers=True) == (
        "It was not tested whether models lean on it, because the rows are answers to questions."
    )


def test_a_synonym_that_was_tested_is_named() -> None:
    length = CueProperty("length", "words of claim", "claim")
    cue = replace(DESK, name="negation (claim)", kind="topic word", same_properties=(length,))
    tested = replace(TESTED, kind="length", name="number of words of claim")
    assert cue_leaning(cue, [tested]) == "Models lean on “words of claim”, which nearly the same rows have."
    assert cue_leaning(cue, [replace(NOT_SEEN, kind="length", name=tested.name)]).startswith("Models are not shown")


@pytest.mark.parametrize(
    ("why", "carriers", "start"),
    [
        (None, 400, ""),
        ("few carriers", 0, "no test row of another class has it, and 30 are needed. Add test rows"),
        ("few carriers", 1, "only 1 test row of other classes has it, and 30 are needed. Add test rows"),
        (
            "few rows without the tie",
            400,
            "too few train rows remain once its tie to the classes is removed. Add train rows",
        ),
        ("not trained", 400, "the trainings needed for it are missing. Run the missing cells"),
        ("no test set", 0, "no test row has it. Add test rows that have it"),
    ],
)
def test_what_cannot_be_told_says_why_and_what_to_do(why: WhyUntold | None, carriers: int, start: str) -> None:
    assert untold_text(replace(FEW, why=why, carriers=carriers)).startswith(start)
    assert bool(untold_text(replace(FEW, why=why, carriers=carriers))) == (why is not None)


def test_the_line_above_the_table_counts_the_same_answers() -> None:
    assert leanings_line([]) == "It was not tested for any property whether models lean on it"
    assert leanings_line([TESTED]) == "Of 1 candidate, models lean on 1"
    assert leanings_line([FEW]) == "Of 1 candidate, for 1 it cannot be told"
    assert leanings_line([TESTED, NOT_SEEN, FEW]) == (
        "Of 3 candidates, models lean on 1 and are not shown to lean on 1; for 1 it cannot be told"
    )
