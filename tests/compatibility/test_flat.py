"""Documents as one value per path: rows by what identifies them, and what is refused."""

import math
import random
from typing import Any

import pytest

from aflite_assets.errors import InvalidInputError
from tests.compatibility.flat import flattened, records

ROWS = [
    {"evaluator": evaluator, "train_set": train_set, "label": label, "accuracy": 0.1 * number, "seeds": 3}
    for number, (evaluator, train_set, label) in enumerate(
        [("linear", "full", None), ("linear", "filtered", None), ("linear", "full", "yes"), ("svm", "full", None)]
    )
]


def test_rows_stand_under_their_identifying_fields_and_no_number_is_one() -> None:
    assert flattened({"tables": {"accuracy": ROWS[1:3]}}) == {
        "tables.accuracy[evaluator=linear, train_set=filtered].accuracy": 0.1,
        "tables.accuracy[evaluator=linear, train_set=filtered].seeds": 3,
        "tables.accuracy[evaluator=linear, train_set=full, label=yes].accuracy": 0.2,
        "tables.accuracy[evaluator=linear, train_set=full, label=yes].seeds": 3,
    }


def test_another_order_of_rows_and_fields_is_the_same() -> None:
    shuffled: list[dict[str, Any]] = [dict(reversed(row.items())) for row in ROWS]
    random.Random(1).shuffle(shuffled)
    assert shuffled != ROWS
    assert flattened({"accuracy": shuffled}) == flattened({"accuracy": ROWS})


def test_texts_that_could_be_read_otherwise_are_quoted() -> None:
    values = ["plain text", "null", "3", "a, b=c", "a]", ""]
    rows = [{"value": value, "count": 1} for value in values] + [{"value": 3, "count": 1}]
    assert list(flattened(rows, "cues")) == [
        "cues[value=plain text].count", 'cues[value="null"].count', 'cues[value="3"].count',
        'cues[value="a, b=c"].count', 'cues[value="a]"].count', 'cues[value=""].count', "cues[value=3].count",
    ]  # fmt: skip


def test_a_field_with_fractions_identifies_nothing() -> None:
    rows = [{"name": "a", "value": 1}, {"name": "b", "value": 0.5}]
    assert flattened(rows, "facts") == {"facts[name=a].value": 1, "facts[name=b].value": 0.5}


def test_named_lists_have_fields_of_their_own() -> None:
    rows = [{"rows": rows, "accuracy": 0.5, "chosen": rows == 200} for rows in (100, 200)]
    assert flattened({"tables": {"sample_curve": rows}}) == {
        "tables.sample_curve[rows=100].accuracy": 0.5,
        "tables.sample_curve[rows=100].chosen": False,
        "tables.sample_curve[rows=200].accuracy": 0.5,
        "tables.sample_curve[rows=200].chosen": True,
    }


def test_lists_without_identifying_fields_are_addressed_by_position() -> None:
    found = flattened({"edges": [0.0, 0.5], "pairs": [[1, 2], [3]], "details": [{"text": "a"}, {"text": "a"}]})
    assert found == {
        "edges[0]": 0.0, "edges[1]": 0.5, "pairs[0][0]": 1, "pairs[0][1]": 2, "pairs[1][0]": 3,
        "details[0].text": "a", "details[1].text": "a",
    }  # fmt: skip


def test_what_is_empty_is_there_all_the_same() -> None:
    found = flattened({"tables": {"top_5": []}, "held_back": {}, "reason": None})
    assert found == {"tables.top_5[]": 0, "held_back{}": 0, "reason": None}


def test_nan_stays() -> None:
    found = flattened({"mean": float("nan")})["mean"]
    assert isinstance(found, float)
    assert math.isnan(found)


def test_rows_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(
        InvalidInputError,
        match=r"^tables\.accuracy: two rows have the same identifying fields, \[evaluator=linear, train_set=full\], so "
        r"their numbers cannot be told apart; add the field in which they differ to IDENTITY or KEYS of .*flat\.py$",
    ):
        flattened({"tables": {"accuracy": [*ROWS, ROWS[0] | {"accuracy": 0.9}]}})


def test_keys_that_make_one_path_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"two values have the path 'a\.b'; rename one of the keys"):
        flattened({"a": {"b": 1}, "a.b": 2})


def test_values_without_a_json_type_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"^found\.rows is a set, which JSON lacks; convert it before$"):
        flattened({"rows": {1}}, "found")


def test_rows_may_be_identified_by_given_columns() -> None:
    rows = [{"evaluator": "linear", "trained on": "full", "test": "81.0"}]
    assert records(rows, "layout", ["evaluator", "trained on"]) == {
        "layout[evaluator=linear, trained on=full].test": "81.0"
    }
