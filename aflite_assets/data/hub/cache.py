"""Cache of rows from the hub, stored as memory-mapped Arrow files. The cache sends no requests.

The hub's libraries request the current commit before they use their own cache. Without a network, the hub's libraries
use any cached commit. The folders of this cache are named by commit. A dataset that was loaded once is therefore found
without a network.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from aflite_assets.data.raw_table.values import plain
from aflite_assets.errors import DataError
from aflite_assets.results.files import flush_entry, flush_folder

_FORM = "aflite-2"
"""Version of the layout of cached files, which changes with the layout."""


def cache_root() -> Path:
    """Return the root folder of this cache, which is in the cache folder of the library `datasets`."""
    from huggingface_hub import constants

    named = os.environ.get("HF_DATASETS_CACHE")
    return (Path(named).expanduser() if named else Path(constants.HF_HOME) / "datasets").absolute() / _FORM


def part_folder(repo_id: str, commit: str, *, name: str, config: str | None, class_numbers: bool) -> Path:
    """Return the cache folder for one split or file pattern at one commit."""
    digest = hashlib.sha256(json.dumps([config, name, class_numbers]).encode()).hexdigest()[:16]
    readable = re.sub(r"[^\w.-]+", "_", f"{config or ''}.{name}").strip(".")[:60]
    return cache_root() / repo_id.replace("/", "--") / commit / f"{readable}-{digest}"


def write_cache(folder: Path, make: Callable[[], Iterable[pa.Table]]) -> None:
    """Write the tables from `make` into a folder; the folder appears under its name only when it is complete."""
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if folder.is_dir():
            return
        aside = folder.with_name(f"{folder.name}.incomplete")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        _write(aside, make())
        flush_folder(aside)
        aside.rename(folder)
        flush_entry(folder.parent)


def read_cache(folder: Path) -> pa.Table | None:
    """Return the rows of a cache folder as a memory-mapped table, or None if the folder does not exist.

    Raises:
        DataError: the folder is damaged, or its files have incompatible columns.
    """
    if not folder.is_dir():
        return None
    try:
        parts = [pa.ipc.open_file(pa.memory_map(str(path))).read_all() for path in sorted(folder.glob("*.arrow"))]
    except (OSError, pa.ArrowException) as error:
        damaged = DataError(f"{str(folder)!r} is damaged ({error}); delete it, and the next run writes it again")
        damaged.refuses = False
        raise damaged from error
    return joined(parts, what=f"the parts of {folder.name!r}")


def joined(tables: Iterable[pa.Table], *, what: str) -> pa.Table:
    """Concatenate tables; a column that a table lacks is null in the rows of this table.

    Raises:
        DataError: a column has incompatible types.
    """
    tables = list(tables)
    if not tables:
        return pa.table({})
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise DataError(
            f"{what} have incompatible columns ({error}); name files with the same columns in `source.splits`"
        ) from error


def remember_commit(repo_id: str, revision: str, commit: str) -> None:
    """Store the commit of a tag or branch for later use without a network.

    Nothing is stored if the cache is not writable.
    """
    path = _reference(repo_id, revision)
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(PermissionError):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(commit, encoding="ascii")
        aside.replace(path)


def remembered_commit(repo_id: str, revision: str) -> str | None:
    """Return the commit that a tag or branch had at the last request."""
    path = _reference(repo_id, revision)
    return path.read_text(encoding="ascii") if path.is_file() else None


def _reference(repo_id: str, revision: str) -> Path:
    return cache_root() / repo_id.replace("/", "--") / "refs" / quote(revision, safe="")


def _write(folder: Path, tables: Iterable[pa.Table]) -> None:
    """Write tables to files; successive tables with the same columns are written to one file.

    Tables whose inferred types differ are written to different files.
    """
    for number, (schema, run) in enumerate(groupby(map(_decoded, tables), key=lambda table: table.schema)):
        # The file format has a footer, so a truncated file raises an error and is not read as a shorter dataset.
        with pa.ipc.new_file(str(folder / f"{number:05d}.arrow"), schema) as writer:
            for table in run:
                writer.write_table(table)


def _decoded(table: pa.Table) -> pa.Table:
    """Decode dictionary columns, because one file cannot contain different dictionaries for the same column."""
    coded = [number for number, kind in enumerate(table.schema.types) if pa.types.is_dictionary(kind)]
    for number in coded:
        table = table.set_column(number, table.schema.names[number], plain(table.column(number)))
    return table
