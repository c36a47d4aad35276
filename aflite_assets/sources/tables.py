"""Writing and reading the raw table's Parquet shards."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.sources.examples import Examples

SHARD_BYTES = 512 * 2**20


def save_examples(examples: Examples, folder: Path, *, shard_bytes: int = SHARD_BYTES) -> int:
    """Write Parquet shards of at most `shard_bytes` in memory, label names in the schema; returns how many."""
    table = examples.table.replace_schema_metadata({"label_names": json.dumps(examples.label_names)})
    shards = max(1, -(-table.nbytes // shard_bytes))
    rows = -(-len(examples) // shards)
    for shard in range(shards):
        pq.write_table(table.slice(shard * rows, rows), folder / f"rows-{shard:05d}.parquet")
    return shards


def load_examples(folder: Path) -> Examples:
    """The rows that `save_examples` wrote, in their order, memory-mapped."""
    shards = [pq.read_table(path, memory_map=True) for path in sorted(folder.glob("rows-*.parquet"))]
    names = json.loads(shards[0].schema.metadata[b"label_names"])
    return Examples(pa.concat_tables(shards), tuple(names))
