"""Cues of one column: the line that they share, the question on the column, and what is mended together."""

from dataclasses import replace

import pytest

from aflite_assets.scan.columns import columns_of, cue_lines, listed_cues, with_columns
from aflite_assets.scan.cues import ClassSize, Cue, CueProperty, ScanFacts
from aflite_assets.scan.sentences import column_question, column_questions, column_sentence, headline, remarks

LATE, GIVEN = "days at least 34", "days is missing"


def _cue(number: int, name: str, label: str, *sources: str, kind: str = "column", precision: float = 0.7) -> Cue:
    return Cue(
        number, name, kind, "artefact" if kind == "missing values" else None, label, 300, 0.5, 0.1, precision, 0.3,
        0.7, 0.65, 0.75, 0.001, tested_rows=150, tested_precision=precision,
        properties=tuple(CueProperty(kind, name, source) for source in sources),
    )  # fmt: skip


def _facts(*cues: Cue, classes: int = 2) -> ScanFacts:
    sizes = tuple(ClassSize(name, 500, 0.6) for name in "abc"[:classes])
    numbered = tuple(replace(cue, number=place) for place, cue in enumerate(cues))
    return ScanFacts(numbered, None, sizes, 1_000, 1_000, 40, ())


def _lines(facts: ScanFacts) -> list[list[str]]:
    return [[cue.name for cue in line.cues] for line in cue_lines(facts)]


def test_only_cues_of_columns_have_columns() -> None:
    assert columns_of(_cue(0, LATE, "a", "days")) == ("days",)
    assert columns_of(_cue(0, "both", "a", "days", "age")) == ("age", "days")
    assert columns_of(_cue(0, "the word 'moving' (text)", "a", "text", kind="words")) == ()
    assert columns_of(_cue(0, "number of missing values", "a", "", kind="missing values")) == ()


@pytest.mark.parametrize(("classes", "lines"), [
    (2, [[LATE, "days from 12 to 33"], ["age at least 60"]]),
    (3, [[LATE], ["age at least 60"], ["days from 12 to 33"]]),
])  # fmt: skip
def test_two_classes_share_the_line_of_a_column(classes: int, lines: list[list[str]]) -> None:
    cues = [
        _cue(0, LATE, "b", "days"),
        _cue(1, "age at least 60", "b", "age"),
        _cue(2, "days from 12 to 33", "a", "days"),
    ]
    assert _lines(_facts(*cues, classes=classes)) == lines


@pytest.mark.parametrize(("pair", "named"), [
    (0.70, "the strongest single property: “age at least 60” for class “b”, 65 %"),
    (0.701, "the strongest: “days at least 34 and sold = 3” for class “b”, 70 %"),
])  # fmt: skip
def test_a_headline_names_a_single_property_within_5_points_of_a_pair(pair: float, named: str) -> None:
    pairs = replace(_cue(0, f"{LATE} and sold = 3", "b", "days", "sold"), balanced=pair)
    single = replace(_cue(1, "age at least 60", "b", "age"), balanced=0.65)
    weak = replace(_cue(2, "sold = 3", "b", "sold"), balanced=0.6)
    said = headline(_facts(pairs, weak, single, classes=3))
    assert said.startswith(f"Found 3 candidates that tell the label and are yours to judge ({named});")


def test_texts_and_pairs_of_columns_have_lines_of_their_own() -> None:
    words = [_cue(place, f"the word '{word}' (text)", "b", "text", kind="words") for place, word in enumerate("xy")]
    cues = [*words, _cue(2, LATE, "b", "days"), _cue(3, f"{LATE} and age = 3", "b", "days", "age")]
    assert [len(names) for names in _lines(_facts(*cues))] == [1, 1, 1, 1]


def test_an_artefact_and_a_candidate_of_a_column_name_each_other() -> None:
    facts = _facts(_cue(0, GIVEN, "a", "days", kind="missing values"), _cue(1, LATE, "b", "days"))
    assert [column_sentence(line) for line in cue_lines(facts)] == [
        "also in this column: “days at least 34” for class “b” (cue 2, 70 %), a candidate",
        "also in this column: “days is missing” for class “a” (cue 1, 70 %), an artefact",
    ]
    assert list(column_questions(facts)) == [1]
    explained = _facts(facts.cues[0], replace(facts.cues[1], explained_by=0))
    assert _lines(explained) == [[GIVEN, LATE]]
    assert list(column_questions(explained)) == [0]


def test_a_line_names_the_other_cues_of_its_column() -> None:
    others = [_cue(place, f"days = {place}", "a", "days", precision=0.99 if place == 1 else 0.7) for place in range(6)]
    (line,) = cue_lines(_facts(_cue(0, LATE, "b", "days"), *others[1:]))
    assert column_sentence(line) == (
        "also in this column: “days = 1” for class “a” (cue 2, 70 %; 99 % of the tested carriers are of this class); "
        "“days = 2” for class “a” (cue 3, 70 %); “days = 3” for class “a” (cue 4, 70 %); “days = 4” for class “a” "
        "(cue 5, 70 %); and 1 more"
    )


def test_each_column_gets_one_question_whatever_its_precision() -> None:
    cues = [
        _cue(0, LATE, "b", "days", precision=0.97),
        _cue(1, "days at most 3", "a", "days"),
        _cue(2, f"{LATE} and age = 3", "b", "days", "age"),
        _cue(3, "site is missing and desk = 1", "c", "site", "desk", kind="attribute"),
        _cue(4, "the word 'moving' (text)", "c", "text", kind="words"),
        _cue(5, "the number in id", "c", "id", kind="identifier"),
    ]
    cues[5] = replace(cues[5], reason="artefact")
    declared = replace(_cue(6, "hue = 3", "c", "hue"), reason="declared")
    assert remarks(_facts(*cues, declared, classes=3)) == {
        0: "nearly every carrier is of one class (97 % of the tested ones). Was “days” known before the label was? If "
        "not, drop the column.",
        1: "",
        2: "Was “age” known before the label was? If not, drop the column.",
        3: "Were “desk” and “site” known before the label was? Drop each column that was not.",
        4: "",
        5: "",
        6: "",
    }
    # The report names one cue, which need not be the first of its column.
    assert column_question(cues[1]) == "Was “days” known before the label was? If not, drop the column."
    assert [column_question(one) for one in (cues[4], cues[5], declared)] == ["", "", ""]


def test_many_columns_are_asked_for_in_four_lines() -> None:
    cues = [_cue(number, f"x{number} = 1", "c", f"x{number}") for number in range(14)]
    questions = column_questions(_facts(*cues, classes=3))
    assert list(questions) == [0, 1, 2, 3]
    assert questions[2] == "Was “x2” known before the label was? If not, drop the column."
    assert questions[3].endswith("drop the column. Ask the same about every other column in the list.")
    assert list(column_questions(_facts(*cues[:4], classes=3)).values())[3].endswith("drop the column.")


def test_the_first_line_counts_columns_and_names_the_strongest_candidate() -> None:
    facts = _facts(_cue(0, LATE, "b", "days"), _cue(1, "days at most 3", "a", "days"), _cue(2, "age = 3", "b", "age"))
    assert headline(facts) == (
        "Found 2 candidates that tell the label and are yours to judge (the strongest: “days at least 34” for class "
        "“b”, 70 %); in balanced accuracy, where chance is 50 %. No artefact was found among the 40 single "
        "properties that the scan knows; one of another kind, or one of less than 60 %, can still be there."
    )
    assert [cue.name for cue in listed_cues(facts)] == [LATE, "age = 3"]


def test_all_cues_of_a_column_are_mended_with_one_of_them() -> None:
    facts = _facts(
        _cue(0, GIVEN, "a", "days", kind="missing values"), _cue(1, LATE, "b", "days"),
        _cue(2, "age = 3", "c", "age"), _cue(3, "days at most 3", "c", "days"),
        _cue(4, "the word 'moving' (text)", "c", "text", kind="words"),
        _cue(5, "the word 'dull' (text)", "a", "text", kind="words"), classes=3,
    )  # fmt: skip
    chosen = [[cue.number for cue in with_columns(facts, [facts.cues[number]])] for number in (1, 2, 4)]
    assert chosen == [[1, 0, 3], [2], [4]]
