"""Storage of the raw table in Parquet shards, with encoded images in memory-mapped Arrow files."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError

SHARD_BYTES = 512 * 2**20

_ROWS = "rows-{:05d}.parquet"
_IMAGES = "images-{:05d}.arrow"


def save_examples(examples: Examples, folder: Path, *, shard_bytes: int = SHARD_BYTES) -> int:
    """Write the rows as Parquet shards with label names in the schema, and return the number of shards.

    A shard has at most `shard_bytes` bytes in memory; a single larger row becomes a shard of its own. Images are
    written to one Arrow file per shard, which is memory-mapped for reading, so images need not fit into memory.
    """
    names = examples.table.column_names
    facts = {"label_names": json.dumps(examples.label_names), "columns": json.dumps(names)}
    table = examples.table.replace_schema_metadata(facts)
    shards = list(_shards(table, shard_bytes))
    for number, shard in enumerate(shards):
        if "image" in names:
            images = shard.select(["image"])
            with (
                pa.OSFile(str(folder / _IMAGES.format(number)), "wb") as file,
                pa.ipc.new_file(file, images.schema) as out,
            ):
                out.write_table(images)
            shard = shard.drop_columns(["image"])
        pq.write_table(shard, folder / _ROWS.format(number))
    return len(shards)


def load_examples(folder: Path) -> Examples:
    """Return the rows that `save_examples` wrote, in their order.

    Raises:
        DataError: the folder contains no shard.
    """
    paths = sorted(folder.glob("rows-*.parquet"))
    if not paths:
        raise DataError(
            f"{str(folder)!r} has no file rows-*.parquet; materialise again the asset that writes this file"
        )
    shards = [_with_images(pq.read_table(path, memory_map=True), folder, n) for n, path in enumerate(paths)]
    facts = shards[0].schema.metadata
    table = pa.concat_tables(shards).select(json.loads(facts[b"columns"]))
    return Examples(table, tuple(json.loads(facts[b"label_names"])))


def examples_schema(folder: Path) -> pa.Schema:
    """Return the schema of the rows that `load_examples` returns, without reading any row.

    Raises:
        DataError: the folder contains no shard.
    """
    rows = folder / _ROWS.format(0)
    if not rows.is_file():
        raise DataError(
            f"{str(folder)!r} has no file rows-*.parquet; materialise again the asset that writes this file"
        )
    schema = pq.read_schema(rows)
    images = folder / _IMAGES.format(0)
    if images.is_file():
        schema = schema.append(pa.ipc.open_file(pa.memory_map(str(images))).schema.field("image"))
    return pa.schema([schema.field(name) for name in json.loads(schema.metadata[b"columns"])], schema.metadata)


def _with_images(rows: pa.Table, folder: Path, number: int) -> pa.Table:
    path = folder / _IMAGES.format(number)
    if not path.is_file():
        return rows
    images = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    return rows.append_column("image", images["image"])


def _shards(table: pa.Table, shard_bytes: int) -> Iterator[pa.Table]:
    if table.nbytes <= shard_bytes or table.num_rows < 2:
        yield table
        return
    half = table.num_rows // 2
    yield from _shards(table.slice(0, half), shard_bytes)
    yield from _shards(table.slice(half), shard_bytes)
