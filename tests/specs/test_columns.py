from typing import Any

import pytest
from pydantic import ValidationError

from aflite_assets.specs.columns import ColumnsSpec, text_names
from aflite_assets.specs.core import ChallengeSpec
from aflite_assets.specs.sources import MultipleChoiceSource, TableSource


@pytest.mark.parametrize(
    "columns",
    [
        {"text": "a", "text_pair": "b", "allow_label_copies": ["b", "a"]},
        {"features": "x", "allow_label_copies": [0, 3]},
        {"features": ["0", "1"], "allow_label_copies": ["1"]},
        {"allow_label_copies": [2]},
    ],
)
def test_copies_are_allowed_by_name_or_by_number(columns: dict[str, Any]) -> None:
    assert ColumnsSpec.model_validate(columns).allow_label_copies == tuple(columns["allow_label_copies"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"features": ["age", "outcome"], "allow_label_copies": ["outcom"]},
            r"contains 'outcom', which is not one of the input columns \['age', 'outcome'\]; did you mean 'outcome'",
        ),
        (
            {"features": ["age"], "allow_label_copies": [0]},
            r"contains 0, which is not one of the input columns \['age'\]; correct it",
        ),
        (
            {"features": "x", "allow_label_copies": ["x"]},
            "but `features` is 'x', a single column of lists; give the number of the feature in the "
            "list, counted from 0",
        ),
        (
            {"image": "png", "allow_label_copies": ["png"]},
            "`allow_label_copies` is for feature or text columns, but it contains 'png' and the rows are "
            "images; remove `allow_label_copies`",
        ),
        ({"allow_label_copies": [-1]}, "greater than or equal to 0"),
    ],
)
def test_names_that_allow_nothing_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ColumnsSpec.model_validate(columns)


def test_challenge_sets_allow_no_copies() -> None:
    source = {"format": "csv", "splits": {"test": "a.csv"}}
    with pytest.raises(ValidationError, match=r"`columns.allow_label_copies` has no effect on a challenge set"):
        ChallengeSpec.model_validate({"source": source, "columns": {"text": "a", "allow_label_copies": ["a"]}})


def test_texts_are_called_as_the_source_calls_them() -> None:
    table = {"format": "csv", "splits": {"train": "a.csv"}}
    choice = {"format": "multiple_choice", "table": table, "question": ["story", "ask"], "right": "key"}
    several = MultipleChoiceSource.model_validate({**choice, "answers": ["a", "b"]})
    one = MultipleChoiceSource.model_validate({**choice, "answers": "ending", "id": "story"})
    assert text_names(several, ColumnsSpec()) == {"text": "story + ask", "text_pair": "answer"}
    assert text_names(one, ColumnsSpec()) == {"text": "story + ask", "text_pair": "ending"}
    plain = TableSource.model_validate(table)
    assert text_names(plain, ColumnsSpec(text="premise", text_pair="hypothesis")) == {
        "text": "premise",
        "text_pair": "hypothesis",
    }
    assert text_names(plain, ColumnsSpec(features="x")) == {}
