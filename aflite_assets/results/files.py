"""Writing that survives a power failure, content hashes of files and folders, and reading of JSON files that anyone may
have written.
"""

import hashlib
import json
import os
import shutil
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

MOST_JSON = 64 << 20
"""Largest size in bytes of a store's JSON file that is read or written."""


def file_sha256(path: Path) -> str:
    """Return the hash of a file's content, 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_files(folder: Path) -> dict[str, Path]:
    """Return the path of every file below a folder, by the relative path. The relative paths are in ascending order."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in files}


def folder_size(path: Path) -> int:
    """Return the size in bytes of a file, or of all files below a folder. Files that disappear during the call are left
    out.
    """
    total = 0
    for place, _, names in os.walk(path) if path.is_dir() else [(path.parent, (), [path.name])]:
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total


def flush_folder(folder: Path) -> None:
    """Write everything below a folder to the disk (`fsync`)."""
    for path in [*folder.rglob("*"), folder]:
        flush_entry(path)


def flush_entry(path: Path) -> None:
    """Write a file, or a folder's list of names, to the disk (`fsync`). After flushing the folder, renamed files keep
    their new names after a power failure.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a JSON file in one step. A reader sees either the complete old content or the complete new content."""
    write_bytes(path, json_bytes(value))


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of a JSON file that contains this value.

    Raises:
        ValueError: a number is not finite.
    """
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode()


def write_bytes(path: Path, body: bytes) -> None:
    """Replace a small file in one step, as `write_json` does."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with aside.open("wb") as stream:
            stream.write(body)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(path)
    except BaseException:  # interruptions too: no half-written file stays
        aside.unlink(missing_ok=True)
        raise
    flush_entry(path.parent)


def read_json(path: Path) -> Any:
    """Read a JSON file of a store, which may be damaged or written by anyone. Raises what `read_small` and `parse_json`
    raise.
    """
    return parse_json(read_small(path))


def read_small(path: Path) -> bytes:
    """Read a file that holds a record of a store.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: the file cannot be read.
        ValueError: the path is not a regular file, or the file has more than `MOST_JSON` bytes.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for a writer
        raise ValueError("the path is not a regular file")
    if status.st_size > MOST_JSON:
        raise ValueError(f"the file has {status.st_size:,} bytes; the largest allowed size is {MOST_JSON:,}")
    return path.read_bytes()


def parse_json(body: bytes) -> Any:
    """Parse UTF-8 JSON more strictly than `json.loads`: repeated names in an object, and NaN, are errors.

    Raises:
        ValueError: the text is not JSON, or its values are nested too deeply.
    """
    try:
        return json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise ValueError("the text is not UTF-8") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice[:100]!r} occurs twice in one JSON object")
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


@contextmanager
def whole_folder(path: Path, scratch: Path, *, ready: Path) -> Iterator[None]:
    """Create an empty folder `path`, which the block fills. After the block, flush the folder to disk and rename it to
    `ready`.

    After an error or an interruption, `path` is removed. `scratch` is kept if the block left a file in it.
    """
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    scratch.mkdir(exist_ok=True)
    try:
        yield
        flush_folder(path)
        ready.parent.mkdir()
        path.rename(ready)
    except BaseException:  # interruptions too: no half-written draft stays
        shutil.rmtree(path, ignore_errors=True)
        for folder in (scratch, scratch.parent):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        raise
    shutil.rmtree(scratch, ignore_errors=True)  # removing a file's other links changes its times


def reserve(path: Path) -> None:
    """Allocate disk space for the whole size of a file.

    If the space were not allocated, a process that writes to a memory map on a full disk would end without a message.

    Raises:
        OSError: the disk has too little space.
    """
    with path.open("r+b") as stream:
        os.posix_fallocate(stream.fileno(), 0, path.stat().st_size)


def link_or_copy(source: Path, target: Path) -> None:
    """Put a file of the scratch folder into a draft, by a hard link if possible and otherwise by copying. The file
    stays in the scratch folder.

    If the writer is killed before publishing, the next writer can use the file again.
    """
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
