import re
from typing import Any

import pyarrow as pa
import pytest

from aflite_assets.errors import DataError
from aflite_assets.sources.labels import Labels, read_labels


def _read(
    *splits: list[Any], names: tuple[str, ...] | None = None, unlabelled: tuple[int | str | None, ...] = ()
) -> Labels:
    columns = {f"split{number}": pa.chunked_array([pa.array(values)]) for number, values in enumerate(splits)}
    return read_labels(columns, names=names, unlabelled=unlabelled)


def _numbers(labels: Labels) -> list[list[int]]:
    assert all(numbers.dtype == "int64" for numbers in labels.numbers.values())
    return [numbers.tolist() for numbers in labels.numbers.values()]


@pytest.mark.parametrize(
    ("values", "numbers", "names"),
    [
        ([2, 10, 2], [0, 1, 0], ("2", "10")),
        ([2.0, 10.0], [0, 1], ("2", "10")),
        ([0.5, 0.25], [1, 0], ("0.25", "0.5")),
        (["b", "a", "b"], [1, 0, 1], ("a", "b")),
        (["10", "9", "x"], [1, 0, 2], ("9", "10", "x")),
        ([True, False], [1, 0], ("False", "True")),
    ],
)
def test_without_names_the_values_found_are_the_classes(
    values: list[Any], numbers: list[int], names: tuple[str, ...]
) -> None:
    labels = _read(values)
    assert (_numbers(labels), labels.names) == ([numbers], names)


@pytest.mark.parametrize("values", [[1, 0], [1.0, 0.0], ["1", "0"], [True, False], ["no", "yes"], ["no", "0"]])
def test_with_names_values_are_names_or_count_them(values: list[Any]) -> None:
    assert _numbers(_read(values, names=("yes", "no"))) == [[1, 0]]


def test_whole_numbers_that_are_names_never_count_the_names() -> None:
    assert _numbers(_read([0, 1], names=("1", "0"))) == [[1, 0]]
    with pytest.raises(DataError, match=re.escape("label '0' (1 rows) is no class of labels ['1', '2']")):
        _read([0, 1], names=("1", "2"))


def test_one_label_written_in_two_ways_is_one_class() -> None:
    labels = _read([0, 1], ["1", "0"], [1.0, 0.0])
    assert labels.names == ("0", "1")
    assert _numbers(labels) == [[0, 1], [1, 0], [1, 0]]


def test_class_that_only_a_later_split_has_is_a_class() -> None:
    assert _numbers(_read(["b"], ["a"])) == [[1], [0]]


@pytest.mark.parametrize(
    ("values", "unlabelled"),
    [
        ([-1, 0, 1], (-1,)),
        (["-", "no", "yes"], ("-",)),
        ([None, "no", "yes"], (None,)),
        (["", "no", "yes"], (None,)),
        ([float("nan"), 0.0, 1.0], (None,)),
        (["-1", "0", "1"], (-1,)),
        ([-1.0, 0.0, 1.0], ("-1",)),
    ],
)
@pytest.mark.parametrize("names", [("no", "yes"), None])
def test_unlabelled_values_get_minus_one(
    values: list[Any], unlabelled: tuple[int | str | None, ...], names: tuple[str, ...] | None
) -> None:
    labels = _read(values, names=names, unlabelled=unlabelled)
    assert _numbers(labels) == [[-1, 0, 1]]
    assert len(labels.names) == 2


def test_unknown_label_is_named_with_its_count_over_all_splits() -> None:
    message = (
        "label '-' (3 rows) is no class of labels ['no', 'yes'], nor are ['z']; "
        "add it to labels, or to unlabelled if such rows have no label"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        _read(["-", "no", "-"], ["-", "z"], names=("no", "yes"))


def test_unknown_label_near_a_class_is_told_so() -> None:
    with pytest.raises(DataError, match=re.escape("label 'entailmnt' (1 rows)") + ".*did you mean 'entailment'"):
        _read(["entailmnt"], names=("entailment", "neutral"))


@pytest.mark.parametrize("value", [2, -1, 1.5, "2"])
def test_numbers_outside_the_names_are_unknown(value: Any) -> None:
    with pytest.raises(DataError, match=rf"label '{value}' \(1 rows\) is no class"):
        _read([value], names=("no", "yes"))


@pytest.mark.parametrize("values", [["a", None, None], ["a", "", ""]])
def test_empty_label_is_refused_unless_null_is_unlabelled(values: list[Any]) -> None:
    with pytest.raises(DataError, match="split 'split1': 2 rows have an empty label; add null to unlabelled"):
        _read(["a"], values)


def test_whole_number_too_long_for_an_integer_is_text() -> None:
    assert _read(["9" * 30, "a", "1"]).names == ("1", "9" * 30, "a")
