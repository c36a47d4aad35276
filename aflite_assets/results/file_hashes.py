"""Content hashes of source files. A hash is cached as long as the file's directory entry (inode, size, times) is
unchanged.

`FileHashes` returns sha256 hashes by path. `Watch` finds files that did not change since the last check. `FileHashes`
and `Watch` store their data in one small database, which any number of processes share. The database may be deleted at
any time.
"""

import hashlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aflite_assets.errors import DataError, MissingDataError, UnsettledDataError
from aflite_assets.paths import cache_folder

_BLOCK = 1 << 20
_RACY_NS = 2_000_000_000
"""Nanoseconds. A file that changed less than this before a check may change again and have the same times."""
_AT_ONCE = 500
"""Number of values in one statement that every version of SQLite accepts."""
_MOST_BEGUN = 16

_log = logging.getLogger(__name__)
_unusable: set[Path] = set()
"""Databases for which a warning was already logged."""
_begun: dict[tuple[Path, "FileMark"], tuple[Any, int]] = {}
"""Progress of hashing files that are larger than `most_bytes`: the hash object, and the number of bytes hashed so far.
Only the newest states are kept.
"""


@dataclass(frozen=True)
class FileMark:
    """A file's inode, size and times. A file with the same mark as before counts as unchanged."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> "FileMark":
        """Return the mark of a file. For a link, return the mark of its target.

        Raises:
            MissingDataError: the file does not exist.
            DataError: the file cannot be examined.
        """
        with _as_data_errors(path):
            entry = path.stat()
        return cls(entry.st_ino, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns)

    def __str__(self) -> str:
        return f"{self.inode}:{self.size}:{self.modified_ns}:{self.changed_ns}"


Marks = dict[Path, FileMark]


@dataclass(frozen=True)
class HashedFile:
    """A file, its hash (`sha256`, 64 hexadecimal digits), and the mark that it had when the hash was computed."""

    path: Path
    mark: FileMark
    sha256: str


def default_database() -> Path:
    """Return the path of the database below `AFLITE_HOME`."""
    return cache_folder("file_hashes.sqlite")


class FileHashes:
    """Hashes of files, read from the database or computed. `noted`: all files that were hashed, in the order of the
    calls.

    `most_bytes`: the largest number of bytes to read. A later `FileHashes` object in the same process continues where
    the earlier object stopped, even in the middle of a file. `watch`: if given, only files that did not change between
    two checks are hashed.
    """

    def __init__(self, *, most_bytes: int | None = None, watch: "Watch | None" = None) -> None:
        self.noted: list[HashedFile] = []
        self._known = _Table("hashes")
        self._left = most_bytes
        self._watch = watch

    def of(self, paths: Iterable[Path]) -> list[str]:
        """Return the sha256 hash of each file's content, 64 hexadecimal digits, in the order of the paths.

        Raises:
            MissingDataError: a file does not exist.
            DataError: a file cannot be read.
            UnsettledDataError: a file is being written, or `most_bytes` bytes have been read; call again later.
        """
        wanted = [Path(os.path.abspath(path)) for path in paths]
        marks = {path: FileMark.of(path) for path in dict.fromkeys(wanted)}
        hashes = self._known.values(marks)
        unknown = {path: mark for path, mark in marks.items() if path not in hashes}
        moving = self._watch.look(unknown) if self._watch is not None else ()
        if moving:
            others = f" and {len(moving) - 1} more" if len(moving) > 1 else ""
            raise UnsettledDataError(
                f"{str(moving[0])!r}{others} is new or has changed; it is used once two checks find it unchanged"
            )
        hashes |= self._computed(unknown)
        self.noted += [HashedFile(path, mark, hashes[path]) for path, mark in marks.items()]
        return [hashes[path] for path in wanted]

    def _computed(self, marks: Marks) -> dict[Path, str]:
        started = time.time_ns()
        hashes: dict[Path, str] = {}
        try:
            for path, mark in marks.items():
                digest, hashed = self._hash(path, mark)
                if digest is None:
                    rest = sum(mark.size for path, mark in marks.items() if path not in hashes) - hashed
                    raise UnsettledDataError(
                        f"{rest:,} bytes are not hashed yet (next file: {str(path)!r}); the next check continues"
                    )
                hashes[path] = digest
        finally:
            lasting = [path for path in hashes if marks[path].changed_ns < started - _RACY_NS]
            self._known.store({path: (marks[path], hashes[path]) for path in lasting})
        return hashes

    def _hash(self, path: Path, mark: FileMark) -> tuple[str | None, int]:
        """Return the hash of a file, or None if no more bytes may be read, and the number of bytes hashed so far."""
        digest, offset = _begun.pop((path, mark), (hashlib.sha256(), 0))
        with _as_data_errors(path), path.open("rb") as stream:
            stream.seek(offset)
            while block := stream.read(_BLOCK if self._left is None else min(_BLOCK, self._left)):
                digest.update(block)
                offset += len(block)
                self._left = None if self._left is None else self._left - len(block)
        if self._left == 0 and offset < mark.size:
            while len(_begun) >= _MOST_BEGUN:
                _begun.pop(next(iter(_begun)))
            _begun[path, mark] = digest, offset
            return None, offset
        if FileMark.of(path) != mark:
            raise UnsettledDataError(f"{str(path)!r} changed while it was hashed; a later check hashes it again")
        return str(digest.hexdigest()), offset


def check_unchanged(files: Iterable[HashedFile]) -> None:
    """Raise an error if the content of a file changed since the file was hashed.

    Files with a changed mark are hashed again.

    Raises:
        MissingDataError: a file no longer exists.
        UnsettledDataError: a file has other content.
        DataError: a file cannot be read.
    """
    for file in files:
        if FileMark.of(file.path) == file.mark:
            continue
        now = FileHashes().of([file.path])[0]
        if now != file.sha256:
            raise UnsettledDataError(
                f"{str(file.path)!r} changed between hashing and the end of reading (sha256 "
                f"{file.sha256[:12]}, now {now[:12]}), so nothing was published; try again when the file no "
                f"longer changes"
            )


class Watch:
    """Detector of files that are not being changed. A file counts as unchanging if it has the same mark in two checks
    that are at least `apart` seconds apart.

    `clock` returns seconds since 1970.
    """

    def __init__(self, *, apart: float = 1.0, clock: Callable[[], float] = time.time) -> None:
        self._first_looks = _Table("looks")
        self._apart = apart
        self._clock = clock

    def look(self, paths: Iterable[Path]) -> tuple[Path, ...]:
        """Check the files again, and return the files that may still be changing. Raises what `FileMark.of` raises."""
        now = self._clock()
        marks = {path: FileMark.of(path) for path in paths}
        since = self._first_looks.values(marks)
        self._first_looks.store({path: (mark, now) for path, mark in marks.items() if path not in since})
        return tuple(path for path in marks if path not in since or now - since[path] < self._apart)


class _Table:
    """A table of the database, with a mark and a value per file: the hash, or the time of the first check since which
    the mark has not changed.

    If the database cannot be used, hashing takes longer, but no result is lost.
    """

    def __init__(self, name: str) -> None:
        self._path = default_database()
        self._name = name

    def values(self, marks: Marks) -> dict[Path, Any]:
        """Return the stored value of each file whose mark has not changed since the value was stored."""
        paths = {os.fsencode(path): path for path in marks}
        names = list(paths) if self._path.is_file() else []
        batches = [names[first : first + _AT_ONCE] for first in range(0, len(names), _AT_ONCE)]

        def read(connection: sqlite3.Connection) -> list[tuple[bytes, str, Any]]:
            select = f"SELECT * FROM {self._name} WHERE path IN ({{}})"
            return [
                row for some in batches for row in connection.execute(select.format(",".join("?" * len(some))), some)
            ]

        rows = self._run(read) if batches else []
        return {paths[name]: value for name, mark, value in rows if mark == str(marks[paths[name]])}

    def store(self, values: Mapping[Path, tuple[FileMark, Any]]) -> None:
        """Store the mark and the value of each file."""
        rows = [(os.fsencode(path), str(mark), value) for path, (mark, value) in values.items()]
        insert = f"INSERT OR REPLACE INTO {self._name} VALUES (?, ?, ?)"
        if rows:
            self._run(lambda connection: list(connection.executemany(insert, rows)))

    def _run(self, call: Callable[[sqlite3.Connection], list[Any]]) -> list[Any]:
        columns = "(path BLOB PRIMARY KEY, mark TEXT NOT NULL, value NOT NULL)"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=30)) as connection, connection:
                connection.execute(f"CREATE TABLE IF NOT EXISTS {self._name} {columns}")
                return call(connection)
        except (sqlite3.Error, OSError) as error:
            if self._path not in _unusable:
                _unusable.add(self._path)
                _log.warning(
                    "file hashes cannot be stored in %s (%s), so files are hashed every time; make it writable, or "
                    "delete it if it is damaged",
                    self._path,
                    error,
                )
            return []


@contextmanager
def _as_data_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise MissingDataError(f"file {str(path)!r} does not exist; correct the path in the spec") from None
    except OSError as error:
        raise DataError(
            f"{str(path)!r} cannot be read ({error.strerror}); make it readable or correct the path in the spec"
        ) from error
