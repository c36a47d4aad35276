import re
from typing import Any

import pyarrow as pa
import pytest

from aflite_assets.data.raw_table.labels import MOST_CLASSES, LabelNames, Labels, class_names, class_of, read_labels
from aflite_assets.errors import DataError


def _read(*splits: list[Any], names: LabelNames | None = None, unlabelled: tuple[int | str | None, ...] = ()) -> Labels:
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


@pytest.mark.parametrize("values", [[1, 0], [1.0, 0.0], ["1", "0"], [True, False], ["right", "left"], ["right", "0"]])
def test_with_names_values_are_names_or_count_them(values: list[Any]) -> None:
    assert _numbers(_read(values, names=("left", "right"))) == [[1, 0]]


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (("True", "False"), [0, 1]),
        (("true", "false"), [0, 1]),
        (("YES", "NO"), [0, 1]),
        (("no", "yes"), [1, 0]),
        (("1", "0"), [0, 1]),
        (("left", "right"), [1, 0]),
        ({"good": 1, "bad": 0}, [0, 1]),
        ({"good": "true", "bad": "false"}, [0, 1]),
    ],
)
def test_booleans_are_never_given_the_opposite_class(names: LabelNames, numbers: list[int]) -> None:
    assert _numbers(_read([True, False], names=names)) == [numbers]


def test_a_boolean_without_a_class_is_unknown() -> None:
    with pytest.raises(
        DataError, match=re.escape("label 'False' (1 rows) is not one of the classes in `labels`, {'a': 1, 'b': 2}")
    ):
        _read([True, False], names={"a": 1, "b": 2})


def test_whole_numbers_that_are_names_never_count_the_names() -> None:
    assert _numbers(_read([0, 1], names=("1", "0"))) == [[1, 0]]
    with pytest.raises(
        DataError, match=re.escape("label '0' (1 rows) is not one of the classes in `labels`, ['1', '2']")
    ):
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
        "label '-' (3 rows) is not one of the classes in `labels`, ['no', 'yes'], nor are 'z'; add the "
        "value to `labels`, or to `unlabelled` if such rows have no label"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        _read(["-", "no", "-"], ["-", "z"], names=("no", "yes"))


def test_unknown_label_near_a_class_is_told_so() -> None:
    with pytest.raises(DataError, match=re.escape("label 'entailmnt' (1 rows)") + ".*did you mean 'entailment'"):
        _read(["entailmnt"], names=("entailment", "neutral"))


@pytest.mark.parametrize("value", [2, -1, 1.5, "2"])
def test_numbers_outside_the_names_are_unknown(value: Any) -> None:
    with pytest.raises(DataError, match=rf"label '{value}' \(1 rows\) is not one of the classes"):
        _read([value], names=("no", "yes"))


@pytest.mark.parametrize("values", [["a", None, None], ["a", "", ""]])
def test_empty_label_is_refused_unless_null_is_unlabelled(values: list[Any]) -> None:
    with pytest.raises(DataError, match=r"split 'split1': 2 of \d rows have an empty label \(first: row \d\); "):
        _read(["a"], values)


def test_whole_number_too_long_for_an_integer_is_text() -> None:
    assert _read(["9" * 30, "a", "1"]).names == ("1", "9" * 30, "a")


@pytest.mark.parametrize(
    ("names", "values", "numbers"),
    [
        ({"entailment": "e", "neutral": "n", "contradiction": "c"}, ["n", "e", "c"], [1, 0, 2]),
        ({"entailment": 0, "not_entailment": 1}, [1, 0, 1], [1, 0, 1]),
        ({"entailment": 1, "not_entailment": 0}, ["1", "0"], [0, 1]),
        ({"yes": "SUPPORTS", "no": ("REFUTES", "NOT ENOUGH INFO")}, ["NOT ENOUGH INFO", "SUPPORTS"], [1, 0]),
        ({"said": ("a", "b"), "silent": None}, ["a", None, "b", ""], [0, 1, 0, 1]),
        ({"low": ("0.5", 1), "high": (2, None)}, [0.5, 1.0, 2.0, float("nan")], [0, 0, 1, 1]),
    ],
)
def test_a_mapping_names_the_values_of_each_class(names: LabelNames, values: list[Any], numbers: list[int]) -> None:
    labels = _read(values, names=names)
    assert (_numbers(labels), labels.names) == ([numbers], tuple(names))


def test_a_mapping_knows_its_values_only() -> None:
    message = (
        "label 'entailment' (2 rows) is not one of the classes in `labels`, {'entailment': 'e', "
        "'other': ('n', 'c')}, nor are 'x' (values found: 'e', 'entailment', 'x'); add the value "
        "to `labels`, or to `unlabelled`"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        _read(["e", "entailment", "x", "entailment"], names={"entailment": "e", "other": ("n", "c")})


def test_a_mapped_value_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(DataError, match=re.escape("label 'SUPPORT' (1 rows)") + ".*did you mean 'SUPPORTS'"):
        _read(["SUPPORT"], names={"yes": "SUPPORTS", "no": "REFUTES"})


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"a": ("x", "y"), "b": "x"},
            "`labels` gives the value 'x' to the classes 'a' and 'b'; remove it from one of the two classes",
        ),
        ({"a": 1, "b": "1"}, "`labels` gives the value '1' to the classes 'a' and 'b'"),
        ({"a": None, "b": ""}, "`labels` gives the value null to the classes 'a' and 'b'"),
    ],
)
def test_a_value_of_two_classes_is_refused(names: LabelNames, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        _read(["x", "1"], names=names)


@pytest.mark.parametrize(
    ("names", "unlabelled", "message"),
    [
        (
            ("a", "b"),
            ("b",),
            "the value 'b' represents the class 'b' in `labels` and is also in `unlabelled`; remove the "
            "value from one of the two",
        ),
        (
            ("a", "b"),
            (0,),
            "the value '0' represents the class 'a' in `labels` and is also in `unlabelled`; remove the "
            "value from one of the two",
        ),
        (
            {"a": ("x", None), "b": "y"},
            (None,),
            "the value null represents the class 'a' in `labels` and is also in `unlabelled`; remove the "
            "value from one of the two",
        ),
    ],
)
def test_a_value_of_a_class_and_of_unlabelled_is_refused(
    names: LabelNames, unlabelled: tuple[int | str | None, ...], message: str
) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        _read(["a", "b", "x", "y"], names=names, unlabelled=unlabelled)


def test_a_mapping_frees_the_positions_for_unlabelled() -> None:
    assert _numbers(_read(["a", "b", "0"], names={"a": "a", "b": "b"}, unlabelled=(0,))) == [[0, 1, -1]]
    assert _numbers(_read(["a", "b", "0"], unlabelled=(0,))) == [[0, 1, -1]]


def test_class_of_is_what_read_labels_accepts() -> None:
    assert class_of(("a", "b", "c")) == {"0": 0, "1": 1, "2": 2, "a": 0, "b": 1, "c": 2, "True": 1, "False": 0}
    assert class_of(("left", "right", "1")) == {"left": 0, "right": 1, "1": 2}
    assert class_of(("no", "yes")) == {"0": 0, "1": 1, "no": 0, "yes": 1, "True": 1, "False": 0}
    assert class_of({"e": (0, "ent"), "n": None}) == {"0": 0, "ent": 0}
    assert class_names(("b", "a")) == class_names({"b": 1, "a": 0}) == ("b", "a")
    with pytest.raises(DataError, match="the value 'x' to the classes 'a' and 'b'"):
        class_of({"a": "x", "b": "x"})


@pytest.mark.parametrize("name", ["a\x00b", " ", "\u202eabc", "line\nbreak"])
def test_values_that_are_no_names_must_be_mapped(name: str) -> None:
    with pytest.raises(
        DataError,
        match=r"\(2 rows\) cannot be printed as a name because it is blank, longer than.*characters or "
        r"contains control characters; set `labels` to a mapping of names to the source's values: "
        r"\{name: value, ...\}",
    ):
        _read([name, "fine", name])
    assert _numbers(_read([name, "fine", name], names={"odd": name, "fine": "fine"})) == [[0, 1, 0]]
    assert _numbers(_read([name, "fine", name], unlabelled=(name,))) == [[-1, 0, -1]]


def test_markup_is_a_name() -> None:
    assert _read(["<b>", "&amp;"]).names == ("&amp;", "<b>")


def test_a_column_of_too_many_values_is_no_label_column() -> None:
    assert len(_read([f"c{row}" for row in range(MOST_CLASSES)]).names) == 1_000
    many = [f"c{row:04d}" for row in range(MOST_CLASSES + 1)] * 2
    message = (
        "the label column has 1,001 distinct values in 2,002 rows (such as 'c0000'), so it seems to "
        "contain ids, texts or measurements instead of classes; set `columns.label` to another column, "
        "or list these values in `labels` if each is a class"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        _read(many)
    assert _read(many, names=tuple(dict.fromkeys(many))).numbers["split0"].max() == 1_000


@pytest.mark.parametrize("values", [[[1, 2], [0]], [{"a": 1}], [b"x"]])
def test_a_row_has_one_label(values: list[Any]) -> None:
    with pytest.raises(
        DataError,
        match=r"split 'split0': the label column has the type .*, but a label is a single text or number",
    ):
        _read(values)


@pytest.mark.parametrize("values", [[1.0, 0.0], ["1.0", "0.0"], [1, 0], ["1", "0.0"]])
@pytest.mark.parametrize("names", [("1.0", "0.0"), ("1", "0"), {"spam": "1.0", "ham": "0"}, {"spam": 1, "ham": 0}])
def test_whole_numbers_are_one_label_with_and_without_a_fraction(values: list[Any], names: LabelNames) -> None:
    assert _numbers(_read(values, names=names)) == [[0, 1]]


def test_whole_numbers_of_two_files_are_one_class_each() -> None:
    labels = _read(["0", "1"], ["0.0", "1.0"])
    assert (labels.names, _numbers(labels)) == (("0", "1"), [[0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["entailment", "neutral", "-1"],
            "the label '-1' is a number, but other labels are names such as 'entailment'; add -1 to "
            "`unlabelled` if such rows have no label, or list all classes in `labels`",
        ),
        (
            ["a", " A", "b"],
            "the labels ' A', 'a' differ in case or spaces only; write these labels alike in the source, "
            "or set `labels` to a mapping of names to values:",
        ),
        ([True, "true", "no"], "labels 'True', 'true' differ in case"),
    ],
)
def test_values_found_that_can_hardly_be_classes_are_refused(values: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        _read([str(value) for value in values])


def test_names_of_a_list_that_are_one_value_are_refused() -> None:
    with pytest.raises(
        DataError,
        match=r"`labels` gives the value '1' to the classes '1' and '1.0'; remove it from one of the two classes",
    ):
        _read([1, 0], names=("1", "1.0", "0"))
