import datetime
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlflow.utils import validation

from aflite_assets.tracking import mlflow_values as values


def test_the_limits_are_mlflows() -> None:
    assert values.LONGEST_NAME == validation.MAX_ENTITY_KEY_LENGTH
    assert values.LONGEST_PARAMETER == validation.MAX_PARAM_VAL_LENGTH
    assert values.LONGEST_TAG == validation.MAX_TAG_VAL_LENGTH
    assert values.LONGEST_DIGEST == validation.MAX_DATASET_DIGEST_SIZE
    assert values.METRICS_PER_BATCH == validation.MAX_METRICS_PER_BATCH
    assert values.PARAMETERS_PER_BATCH == validation.MAX_PARAMS_TAGS_PER_BATCH


@given(st.text(st.characters(), max_size=600))
def test_mlflow_takes_every_accepted_name(name: str) -> None:
    accepted = values.accepted_name(name)
    validation._validate_param(accepted, "")
    validation._validate_tag(accepted, "")
    assert len(accepted) <= 250


@pytest.mark.parametrize("name", ["accuracy", "linear/snli test.accuracy", "a-b:c", "x" * 250])
def test_an_acceptable_name_stays(name: str) -> None:
    assert values.accepted_name(name) == name


@given(st.lists(st.text(max_size=8), unique=True, min_size=2))
def test_different_names_stay_different(names: list[str]) -> None:
    assert len({values.accepted_name(name) for name in names}) == len(names)


def test_long_names_with_one_beginning_stay_different() -> None:
    first, second = (values.accepted_name("x" * 300 + end) for end in "ab")
    assert first != second
    assert len(first) == len(second) == 250


@given(st.text(st.characters(), max_size=200))
def test_an_accepted_part_is_a_file_name_and_no_separator(text: str) -> None:
    part = values.accepted_part(text)
    assert values.accepted_part(part) == part
    assert 0 < len(part) <= values.LONGEST_PART
    assert not set(part) & set("./:")
    assert values.accepted_name(part) == part


@pytest.mark.parametrize("part", ["not", "kept_rows", "a b-c", "x" * 60])
def test_an_acceptable_part_stays(part: str) -> None:
    assert values.accepted_part(part) == part


@given(st.lists(st.text(max_size=8), unique=True, min_size=2))
def test_different_parts_stay_different(texts: list[str]) -> None:
    assert len({values.accepted_part(text) for text in texts}) == len(texts)


def test_a_table_as_json_has_no_value_that_json_lacks() -> None:
    table = pa.table({"word": ["<b>\x00", None], "z": [float("nan"), 0.5], "day": [datetime.date(2020, 1, 2), None]})
    assert json.loads(values.split_json(table)) == {
        "columns": ["word", "z", "day"],
        "data": [["<b>\x00", None, "2020-01-02"], [None, 0.5, None]],
    }


@given(st.text(st.characters()), st.integers(0, 50))
def test_accepted_text_can_be_stored_anywhere(text: str, longest: int) -> None:
    accepted = values.accepted_text(text, longest=longest)
    assert len(accepted.encode("utf-8").decode("utf-8")) <= longest
    assert "\x00" not in accepted


def test_a_digest_tells_its_parts_apart() -> None:
    assert values.digest_of("ab", "c") != values.digest_of("a", "bc")
    assert values.digest_of("ab", "c") == values.digest_of("ab", "c")
