import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.data.raw_table.value_limits import LARGEST_TEXT, check_sizes, check_texts, narrow
from aflite_assets.errors import DataError


def _zeros(sizes: list[int]) -> pa.Array:
    """Texts of zero bytes, whose memory the system lends only when it is read or written."""
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    contents = pa.py_buffer(np.zeros(int(offsets[-1]), np.uint8))
    return pa.Array.from_buffers(pa.large_string(), len(sizes), [None, pa.py_buffer(offsets), contents])


def test_cell_of_two_gibibytes_is_refused_by_its_length_alone() -> None:
    before = pa.total_allocated_bytes()
    column = pa.chunked_array([pa.array(["a"], pa.large_string()), _zeros([3, 2**31])])
    message = (
        "split 'dev': the value in column 'x', row 3, has 2,048.0 MiB, but at most 16 MiB are allowed; "
        "shorten the value or delete the row in the source"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        check_texts("split 'dev'", "x", column)
    assert pa.total_allocated_bytes() - before < 10_000


@pytest.mark.parametrize("kind", ["string", "view", "dictionary"])
def test_long_texts_of_any_type_are_refused_and_the_longest_allowed_pass(kind: str) -> None:
    texts = pa.array(["a" * LARGEST_TEXT, "", None, "a" * (LARGEST_TEXT + 1)])
    column = {"string": texts, "view": texts.cast(pa.string_view()), "dictionary": texts.dictionary_encode()}[kind]
    check_texts("split 'dev'", "x", pa.chunked_array([column.slice(0, 3)]))
    for start in (0, 1):
        with pytest.raises(DataError, match=f"the value in column 'x', row {4 - start}, has 16.0 MiB, but at most"):
            check_texts("split 'dev'", "x", pa.chunked_array([column.slice(start)]))


def test_rows_of_a_value_are_named_where_they_are_not_its_position() -> None:
    values = pa.chunked_array([pa.array(["a", "aaa"])])
    with pytest.raises(
        DataError,
        match=r"the value in column 'x', row 8, has 0.0 MiB, but at most 0 MiB are allowed; shorten the value "
        r"or delete the row in the source \(in a csv file, an unclosed quote joins many rows into one "
        r"value\)",
    ):
        check_sizes("file 'a'", "x", values, 2, rows=np.array([6, 7]))
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff"]).buffers())
    with pytest.raises(DataError, match="file 'a': column 'x' contains bytes that are not UTF-8 in row 8"):
        check_texts("file 'a'", "x", pa.chunked_array([broken]), rows=np.array([6, 7]))


@pytest.mark.parametrize("kind", ["string", "large_string", "view", "dictionary"])
def test_bytes_that_are_no_utf8_are_refused_with_their_row(kind: str) -> None:
    contents = pa.array([b"a", b"a\xc3\xa9", b"\xed\xa0\x80"])  # the last is half of a surrogate pair
    broken = pa.Array.from_buffers(pa.string(), 3, contents.buffers())
    large = pa.Array.from_buffers(pa.large_string(), 3, contents.cast(pa.large_binary()).buffers())
    view = pa.Array.from_buffers(pa.string_view(), 3, contents.cast(pa.binary_view()).buffers())
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 2]), broken)
    column = {"string": broken, "large_string": large, "view": view, "dictionary": encoded}[kind]
    with pytest.raises(
        DataError, match="column 'x' contains bytes that are not UTF-8 in row 4; save the source's text as UTF-8"
    ):
        check_texts("split 'dev'", "x", pa.chunked_array([column.slice(0, 1), column]))


def test_columns_that_are_no_text_pass() -> None:
    for column in ([1, None], [b"\xff"], [[1]], [None]):
        check_texts("split 'dev'", "x", pa.chunked_array([pa.array(column)]))


@settings(deadline=None)
@given(
    texts=st.lists(st.text(max_size=5), max_size=8),
    skipped=st.integers(0, 3),
    kind=st.sampled_from([pa.large_string(), pa.string_view(), pa.string()]),
)
def test_narrow_columns_hold_the_same_texts(texts: list[str], skipped: int, kind: pa.DataType) -> None:
    column = pa.chunked_array([pa.array(texts, kind).slice(skipped), pa.array(texts, kind)])
    narrowed = narrow(column, pa.string())
    assert narrowed.type == pa.string()
    narrowed.validate(full=True)
    assert narrowed.to_pylist() == column.to_pylist()


def test_chunk_over_two_gibibytes_is_cut_and_not_copied() -> None:
    before = pa.total_allocated_bytes()
    column = pa.chunked_array([_zeros([2**30, 2**30 - 1, 5, 2**31 - 1, 0, 1])])
    narrowed = narrow(column, pa.string())
    assert [len(chunk) for chunk in narrowed.chunks] == [2, 1, 2, 1]
    assert [pc.sum(pc.binary_length(chunk)).as_py() for chunk in narrowed.chunks] == [2**31 - 1, 5, 2**31 - 1, 1]
    assert narrowed.chunk(3).to_pylist() == ["\x00"]
    assert pa.total_allocated_bytes() - before < 10_000
