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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from aflite_assets.errors import DataError, MissingDataError, UnsettledDataError
from aflite_assets.paths import cache_folder

_BLOCK = 1 << 20
_RACY_NS = 2_000_000_000
"""Nanoseconds. A file that changed less than this before a check may change again and have the same times."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS hashes (path BLOB PRIMARY KEY, mark TEXT NOT NULL, sha256 TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS looks (path BLOB PRIMARY KEY, mark TEXT NOT NULL, since REAL NOT NULL)",
)
_AT_ONCE = 500
"""Number of values in one statement that every version of SQLite accepts."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)
_unusable: set[Path] = set()
"""Databases for which a warning was already logged."""

_begun: dict[tuple[Path, "FileMark"], tuple[Any, int]] = {}
"""Progress of hashing files that are larger than `most_bytes`: the hash object, and the number of bytes hashed so
far.
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

    def __init__(
        self, database: Path | None = None, *, most_bytes: int | None = None, watch: "Watch | None" = None
    ) -> None:
        self.noted: list[HashedFile] = []
        self._database = _Database(database or default_database())
        self._left = most_bytes
        self._watch = watch

    def of(self, paths: Iterable[Path]) -> list[str]:
        """Return the sha256 hash of each file's content, 64 hexadecimal digits, in the order of the paths.

        Raises:
            MissingDataError: a file does not exist.
            DataError: a file cannot be read.
            UnsettledDataError: a file is being written, or `most_bytes` bytes have been read; call again later.
        """
        marks = {Path(os.path.abspath(path)): None for path in paths}
        current = {path: FileMark.of(path) for path in marks}
        hashes = self._database.hashes(current)
        unknown = [path for path in current if path not in hashes]
        if unknown:
            self._settle(unknown)
            hashes |= self._computed(unknown, current)
        files = [HashedFile(path, mark, hashes[path]) for path, mark in current.items()]
        self.noted += files
        by_path = {file.path: file.sha256 for file in files}
        return [by_path[Path(os.path.abspath(path))] for path in paths]

    def _settle(self, paths: Sequence[Path]) -> None:
        moving = self._watch.look(paths) if self._watch is not None else ()
        if moving:
            others = f" and {len(moving) - 1} more" if len(moving) > 1 else ""
            raise UnsettledDataError(
                f"{str(moving[0])!r}{others} is new or has changed; it is used once two checks find it unchanged"
            )

    def _computed(self, paths: Sequence[Path], marks: dict[Path, FileMark]) -> dict[Path, str]:
        started = time.time_ns()
        hashes: dict[Path, str] = {}
        try:
            for path in paths:
                hashes[path] = self._hash(path, marks[path])
        except _OutOfBudgetError as error:
            rest = error.left + sum(marks[path].size for path in paths[len(hashes) + 1 :])
            raise UnsettledDataError(
                f"{rest:,} bytes are not hashed yet (next file: {str(paths[len(hashes)])!r}); the next check continues"
            ) from None
        finally:
            lasting = {path: digest for path, digest in hashes.items() if marks[path].changed_ns < started - _RACY_NS}
            self._database.remember({path: (marks[path], digest) for path, digest in lasting.items()})
        return hashes

    def _hash(self, path: Path, mark: FileMark) -> str:
        digest, offset = _begun.pop((path, mark), (hashlib.sha256(), 0))
        with _as_data_errors(path), path.open("rb") as stream:
            stream.seek(offset)
            while True:
                wanted = _BLOCK if self._left is None else min(_BLOCK, self._left)
                if wanted == 0 and offset < mark.size:
                    _begin(path, mark, digest, offset)
                    raise _OutOfBudgetError(mark.size - offset)
                block = stream.read(wanted)
                if not block:
                    break
                digest.update(block)
                offset += len(block)
                self._left = None if self._left is None else self._left - len(block)
        if FileMark.of(path) != mark:
            raise UnsettledDataError(f"{str(path)!r} changed while it was hashed; a later check hashes it again")
        return str(digest.hexdigest())


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

    def __init__(
        self, database: Path | None = None, *, apart: float = 1.0, clock: Callable[[], float] = time.time
    ) -> None:
        self._database = _Database(database or default_database())
        self._apart = apart
        self._clock = clock

    def look(self, paths: Iterable[Path]) -> tuple[Path, ...]:
        """Check the files again, and return the files that may still be changing.

        Raises:
            MissingDataError: a file does not exist.
            DataError: a file cannot be examined.
        """
        now = self._clock()
        marks = {path: FileMark.of(path) for path in paths}
        since = self._database.looks(marks)
        self._database.look({path: mark for path, mark in marks.items() if path not in since}, now)
        return tuple(path for path in marks if path not in since or now - since[path] < self._apart)


class _Database:
    """The database of hashes and checks. If it cannot be used, hashing takes longer, but no result is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def hashes(self, marks: dict[Path, FileMark]) -> dict[Path, str]:
        """Return the stored hash of each file whose size and times have not changed since the hash was stored."""
        return self._matching("sha256", "hashes", marks)

    def looks(self, marks: dict[Path, FileMark]) -> dict[Path, float]:
        """Return, for each file, the time of the first check since which the file's size and times have not changed."""
        return self._matching("since", "looks", marks)

    def remember(self, hashes: dict[Path, tuple[FileMark, str]]) -> None:
        rows = [(os.fsencode(path), str(mark), digest) for path, (mark, digest) in hashes.items()]
        self._write("INSERT OR REPLACE INTO hashes VALUES (?, ?, ?)", rows)

    def look(self, marks: dict[Path, FileMark], now: float) -> None:
        rows = [(os.fsencode(path), str(mark), now) for path, mark in marks.items()]
        self._write("INSERT OR REPLACE INTO looks VALUES (?, ?, ?)", rows)

    def _matching(self, column: str, table: str, marks: dict[Path, FileMark]) -> dict[Path, Any]:
        paths = {os.fsencode(path): path for path in marks}
        names = list(paths)
        # The names of the column and the table are this class's own; paths are passed as values.
        statement = f"SELECT path, mark, {column} FROM {table} WHERE path IN ({{}})"

        def read(connection: sqlite3.Connection) -> list[tuple[bytes, str, Any]]:
            rows: list[tuple[bytes, str, Any]] = []
            for first in range(0, len(names), _AT_ONCE):
                some = names[first : first + _AT_ONCE]
                rows += connection.execute(statement.format(",".join("?" * len(some))), some)
            return rows

        known = self._ask(read) if names and self._path.is_file() else None
        return {paths[name]: value for name, mark, value in known or () if mark == str(marks[paths[name]])}

    def _write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            self._ask(lambda connection: connection.executemany(statement, rows))

    def _ask(self, call: Callable[[sqlite3.Connection], _Answer]) -> _Answer | None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=30)) as connection, connection:
                for table in _TABLES:
                    connection.execute(table)
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
            return None


class _OutOfBudgetError(Exception):
    def __init__(self, left: int) -> None:
        self.left = left


def _begin(path: Path, mark: FileMark, digest: Any, offset: int) -> None:
    """Store the state of a partly hashed file, so that the next call can continue. Only the 16 newest states are
    kept.
    """
    while len(_begun) >= 16:
        _begun.pop(next(iter(_begun)))
    _begun[path, mark] = digest, offset


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
