"""Writing and reading the raw table's Parquet shards."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.errors import DataError
from aflite_assets.sources.examples import Examples

SHARD_BYTES = 512 * 2**20


def save_examples(examples: Examples, folder: Path, *, shard_bytes: int = SHARD_BYTES) -> int:
    """Write Parquet shards of at most `shard_bytes` in memory, label names in the schema; returns how many.

    A row that is larger by itself is a shard of its own.
    """
    table = examples.table.replace_schema_metadata({"label_names": json.dumps(examples.label_names)})
    shards = list(_shards(table, shard_bytes))
    for number, shard in enumerate(shards):
        pq.write_table(shard, folder / f"rows-{number:05d}.parquet")
    return len(shards)


def load_examples(folder: Path) -> Examples:
    """The rows that `save_examples` wrote, in their order, memory-mapped.

    Raises:
        DataError: the folder holds no shard.
    """
    paths = sorted(folder.glob("rows-*.parquet"))
    if not paths:
        raise DataError(f"{str(folder)!r} holds no rows-*.parquet; materialise the asset it belongs to again")
    shards = [pq.read_table(path, memory_map=True) for path in paths]
    names = json.loads(shards[0].schema.metadata[b"label_names"])
    return Examples(pa.concat_tables(shards), tuple(names))


def _shards(table: pa.Table, shard_bytes: int) -> Iterator[pa.Table]:
    if table.nbytes <= shard_bytes or table.num_rows < 2:
        yield table
        return
    half = table.num_rows // 2
    yield from _shards(table.slice(0, half), shard_bytes)
    yield from _shards(table.slice(half), shard_bytes)
