"""Questions chosen by measures of their answers: counts of signs, and what is left of planted pairs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.scan.blind.selection import chosen_questions


def _rows(pairs: Sequence[tuple[str, ...]]) -> Examples:
    """Questions whose first answer is right."""
    flat = [(number, place, text) for number, one in enumerate(pairs) for place, text in enumerate(one)]
    table = pa.table(
        {
            "row_id": pa.array(np.arange(len(flat))),
            "label": pa.array([int(place > 0) for _, place, _ in flat]),
            "question": pa.array([number for number, _, _ in flat]),
            "group": pa.array([number for number, _, _ in flat]),
            "text": [f"question {number}" for number, _, _ in flat],
            "text_pair": [text for _, _, text in flat],
        }
    )
    return Examples(table, ("right", "wrong"))


def _chosen(rows: Examples, **measures: Any) -> list[int]:
    places = chosen_questions(rows, **{"balanced_by": (), "against": (), "seed": 0, **measures})
    assert rows.questions is not None
    questions, counts = np.unique(rows.questions[places], return_counts=True)
    assert counts.tolist() == np.bincount(rows.questions)[questions].tolist()  # whole questions
    return [int(one) for one in questions]


LONG, SHORT = "a long answer with words", "short"


def test_against_keeps_questions_whose_right_answer_is_the_shortest() -> None:
    rows = _rows([(LONG, SHORT), (SHORT, LONG), (SHORT, SHORT + "s", LONG), (SHORT, LONG, "x"), (SHORT, "shirt")])
    assert _chosen(rows, against=("length",)) == [1, 2]


def test_balanced_pairs_have_as_many_longer_right_answers_as_shorter_ones() -> None:
    rows = _rows([(LONG, SHORT)] * 7 + [(SHORT, LONG)] * 3 + [(SHORT, "shirt")] * 2)
    chosen = _chosen(rows, balanced_by=("length",))
    assert sum(one < 7 for one in chosen) == 3
    assert chosen[3:] == [7, 8, 9, 10, 11]
    assert _chosen(rows, balanced_by=("length",), seed=3)[3:] == chosen[3:]


def test_the_odd_one_out_is_balanced_in_questions_of_three_answers() -> None:
    odd = ("red moon rising", "blue lake shore", "blue lake house")
    typical = ("blue lake shore", "blue lake house", "red moon rising")
    chosen = _chosen(_rows([odd] * 6 + [typical] * 2), balanced_by=("oddness",))
    assert (sum(one < 6 for one in chosen), chosen[2:]) == (2, [6, 7])
    with pytest.raises(DataError, match="'oddness', which needs a question with at least three answers, but all have"):
        _chosen(_rows([(LONG, SHORT)] * 4), against=("oddness",))


def test_two_measures_are_balanced_together() -> None:
    """Length and negation agree in 5 questions and disagree in 4 one way, in 2 the other way."""
    both, longer, denied = (
        ("it is not so at all", "yes"),
        ("it is so, all of it", "not"),
        ("not", "it is so, all of it"),
    )
    chosen = _chosen(_rows([both] * 5 + [longer] * 4 + [denied] * 2), balanced_by=("length", "negations"))
    assert sum(one < 5 for one in chosen) == 0
    assert sum(5 <= one < 9 for one in chosen) == 2
    assert sum(one >= 9 for one in chosen) == 2


def test_rows_without_questions_and_choices_that_leave_nothing_are_refused() -> None:
    rows = _rows([(LONG, SHORT)] * 3)
    with pytest.raises(
        DataError, match=r"none of 3 questions meets both `balanced_by` \[\] and `against` \['length'\]"
    ):
        _chosen(rows, against=("length",))
    with pytest.raises(DataError, match="these rows are not answers to questions"):
        _chosen(Examples(rows.table, ("no", "yes")), against=("length",))
