import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.data.raw_table.values import as_texts, plain, shown
from aflite_assets.errors import DataError


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, -1, None], ["1", "-1", None]),
        ([1.0, 2.5, math.nan, math.inf], ["1", "2.5", None, "inf"]),
        (["1", "", " ", "007"], ["1", None, " ", "007"]),
        ([True, False], ["True", "False"]),
        ([b"\x00"], ["b'\\x00'"]),
    ],
)
def test_values_as_text(values: list[Any], texts: list[str | None]) -> None:
    assert as_texts(pa.chunked_array([pa.array(values)])) == texts


def test_encoded_values_are_decoded() -> None:
    texts = pa.array(["b", "a", None])
    for encoded in (texts.dictionary_encode(), pc.run_end_encode(texts), texts.cast(pa.string_view())):
        assert as_texts(pa.chunked_array([encoded, encoded.slice(1)])) == ["b", "a", None, "a", None]


@pytest.mark.parametrize(
    ("array", "texts"),
    [
        (pa.array([Decimal("1.00"), Decimal("1.50"), None]), ["1", "1.50", None]),
        (pa.array([1, 2.5, None], pa.float16()), ["1", "2.5", None]),
        (
            pa.array([0, 1_500_000, None], pa.timestamp("us")),
            ["1970-01-01 00:00:00", "1970-01-01 00:00:01.500000", None],
        ),
        (pa.array([1], pa.timestamp("s", "UTC")), ["1970-01-01 00:00:01Z"]),
        (pa.array([1], pa.timestamp("s", "Nowhere/X")), ["1970-01-01 00:00:01"]),
        (pa.array([2**62], pa.timestamp("s")), [f"<value out of range: {2**62}>"]),
        (pa.array([0], pa.date32()), ["1970-01-01"]),
        (pa.array([2**62], pa.duration("s")), [str(2**62)]),
        (pa.array([bytes(16)], pa.uuid()), ["00000000-0000-0000-0000-000000000000"]),
        (pa.array(["{}"], pa.json_()), ["{}"]),
        (pa.array([[1, None], None]), ["[1, None]", None]),
        (pa.nulls(2), [None, None]),
    ],
)
def test_values_of_any_type_as_text(array: pa.Array, texts: list[str | None]) -> None:
    assert as_texts(pa.chunked_array([array])) == texts


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (
            pa.StructArray.from_arrays([pa.array([1])] * 2, ["\x1b", "\x1b"]),
            r"'struct<\\x1b: int64, \\x1b: int64>' cannot be",
        ),
        (
            pa.array([[2**62]], pa.list_(pa.timestamp("s"))),
            r"'list<item: timestamp\[s\]>' cannot be read as text \('Python int",
        ),
        (
            pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers()),
            r"'string' cannot be read as text .*'utf-8'",
        ),
    ],
)
def test_values_without_a_form_as_text_are_refused(array: pa.Array, problem: str) -> None:
    with pytest.raises(
        DataError, match=f"a column of the type {problem}.*; convert the column to text in the source, or name another"
    ):
        as_texts(pa.chunked_array([array]))


def test_dictionaries_are_decoded_with_wide_offsets() -> None:
    texts = pa.array(["ab", "c"])
    column = plain(pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 0], pa.int8()), texts)]))
    assert column.type == pa.large_string()
    assert column.to_pylist() == ["c", "ab", None, "ab"]


@settings(deadline=None)
@given(st.text(), st.integers(0, 400))
def test_shown_values_are_printable_and_short(text: str, repeats: int) -> None:
    assert shown(text * repeats).isprintable()
    assert len(shown(text * repeats)) < 2100
    assert shown("a'b") == repr("a'b")
    assert shown("x" * 201) == f"{'x' * 200!r}... (201 characters)"
