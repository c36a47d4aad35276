from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.raw_table.storage import load_examples, save_examples
from aflite_assets.data.synthetic.circles import list_column
from aflite_assets.errors import DataError


def _shard_sizes(table: pa.Table, folder: Path) -> list[tuple[int, int]]:
    """Bytes and rows of each shard's part of the table as it was written; a reader may add bitmaps of nulls."""
    sizes, start = [], 0
    for path in sorted(folder.iterdir()):
        rows = pq.read_metadata(path).num_rows
        sizes.append((table.slice(start, rows).nbytes, rows))
        start += rows
    return sizes


HOSTILE_NAMES = ('<b>"&', "naïve", "a\nb", "\x00")


def test_rows_types_and_label_names_survive(tmp_path: Path) -> None:
    images = [{"bytes": b"\x00\xff", "path": None, "sha256": None}, {"bytes": None, "path": "/a", "sha256": "f"}]
    table = pa.table(
        {
            "row_id": np.arange(2),
            "features": list_column(np.array([[np.pi, 1e-30], [-0.0, 3e38]])),
            "image": pa.array(images, IMAGE_TYPE),
            "text": ["<script>\x00\x1b", "\u202e\U0001f600"],
        }
    )
    assert save_examples(Examples(table, HOSTILE_NAMES), tmp_path) == 1
    loaded = load_examples(tmp_path)
    assert loaded.label_names == HOSTILE_NAMES
    assert loaded.table.replace_schema_metadata(None).equals(table)


@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.integers(0, 3000), min_size=1, max_size=40), limit=st.integers(500, 20_000))
def test_shards_stay_under_the_limit_and_hold_every_row_once(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], limit: int
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    table = pa.table({"row_id": np.arange(len(lengths)), "text": ["x" * length for length in lengths]})
    shards = save_examples(Examples(table, ("a", "b")), folder, shard_bytes=limit)
    paths = sorted(folder.iterdir())
    assert [path.name for path in paths] == [f"rows-{number:05d}.parquet" for number in range(shards)]
    assert all(nbytes <= limit or rows == 1 for nbytes, rows in _shard_sizes(table, folder))
    assert load_examples(folder).table["text"].to_pylist() == table["text"].to_pylist()


def test_one_large_row_does_not_hide_behind_the_mean(tmp_path: Path) -> None:
    texts = ["x" * 4000, "x" * 4000, *["y"] * 98]
    table = pa.table({"row_id": np.arange(100), "text": texts})
    assert save_examples(Examples(table, ()), tmp_path, shard_bytes=4500) > 2
    assert max(nbytes for nbytes, _ in _shard_sizes(table, tmp_path)) <= 4500


def test_images_are_mapped_into_memory_and_not_read(tmp_path: Path) -> None:
    images = [{"bytes": bytes([row]) * 100_000, "path": None, "sha256": None} for row in range(100)]
    table = pa.table({"row_id": np.arange(100), "image": pa.array(images, IMAGE_TYPE), "label": [0, 1] * 50})
    assert save_examples(Examples(table, ("a", "b")), tmp_path, shard_bytes=3_000_000) == 4
    before = pa.total_allocated_bytes()
    loaded = load_examples(tmp_path)
    assert pa.total_allocated_bytes() - before < 1_000_000
    assert loaded.table.column_names == ["row_id", "image", "label"]
    assert [loaded.image_bytes(row)[0] for row in (0, 57, 99)] == [0, 57, 99]


def test_no_rows_are_one_empty_shard(tmp_path: Path) -> None:
    assert save_examples(Examples(pa.table({"row_id": np.arange(0)}), ("a", "b")), tmp_path) == 1
    assert (len(load_examples(tmp_path)), load_examples(tmp_path).label_names) == (0, ("a", "b"))


def test_folder_named_like_a_partition_adds_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "dataset=x"
    folder.mkdir()
    save_examples(Examples(pa.table({"row_id": [1]}), ()), folder)
    assert load_examples(folder).table.column_names == ["row_id"]


def test_folder_without_shards_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no file rows-\*\.parquet; materialise again the asset"):
        load_examples(tmp_path)
