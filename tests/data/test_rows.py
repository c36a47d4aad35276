import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.data import rows
from aflite_assets.data.rows import rows_at

LONG = pa.table({"row": np.arange(50), "text": [f"{row}" * 10_000 for row in range(50)]})
SHORT = pa.table({"row": np.arange(50), "text": [str(row) for row in range(50)]})


@pytest.mark.parametrize("table", [LONG, SHORT])
@settings(deadline=None)
@given(wanted=st.lists(st.integers(0, 49), max_size=60))
def test_rows_are_those_asked_for_in_their_order(table: pa.Table, wanted: list[int]) -> None:
    for positions in (wanted, sorted(wanted), sorted(set(wanted))):
        chosen = rows_at(table, np.array(positions, np.int64))
        assert chosen["row"].to_pylist() == positions
        assert chosen.schema == table.schema
        chosen.validate(full=True)


def test_long_rows_are_not_copied_while_they_stay_in_order() -> None:
    before = pa.total_allocated_bytes()
    assert rows_at(LONG, np.arange(50)) is LONG
    some = [rows_at(LONG, np.arange(7, 20)), rows_at(LONG, np.flatnonzero(np.arange(50) % 3))]
    assert pa.total_allocated_bytes() - before < 10_000
    assert [len(table) for table in some] == [13, 33]


def test_short_rows_are_copied_into_few_chunks() -> None:
    chosen = rows_at(SHORT, np.flatnonzero(np.arange(50) % 3))
    assert chosen["text"].num_chunks == 1
    assert chosen["row"].to_pylist() == [row for row in range(50) if row % 3]


def test_rows_in_another_order_are_gathered_from_columns_over_two_gibibytes() -> None:
    contents = pa.py_buffer(np.zeros(2**30, np.uint8))  # lent by the system only when it is read or written
    offsets = pa.py_buffer(np.array([0, 1, 2**30 - 1, 2**30], np.int32))
    chunk = pa.Array.from_buffers(pa.string(), 3, [None, offsets, contents])
    table = pa.table({"text": pa.chunked_array([chunk] * 3), "row": np.arange(9)})
    assert rows_at(table, np.array([8, 0, 5, 3])).to_pylist() == [{"text": "\x00", "row": row} for row in (8, 0, 5, 3)]


def test_large_selections_in_another_order_are_gathered_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_TAKE_BYTES", 100_000)
    positions = np.random.default_rng(0).permutation(50)
    chosen = rows_at(LONG, positions)
    assert chosen["text"].num_chunks > 5
    assert chosen["text"].to_pylist() == [f"{row}" * 10_000 for row in positions]
