"""Locks and reader marks. Locks allow one writer per asset and partition, and one run per dataset. Marks of readers
protect results from prune.
"""

import fcntl
import json
import logging
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from aflite_assets.errors import DatasetBusyError, StoreError
from aflite_assets.results.files import write_json
from aflite_assets.results.records import PublishedResult

_log = logging.getLogger(__name__)
_HELD: ContextVar[frozenset[Path]] = ContextVar("held dataset locks", default=frozenset())


@dataclass(frozen=True)
class Holder:
    """The process that runs a dataset: process id, host name, start (ISO 8601, UTC) and purpose."""

    pid: int
    host: str
    since: str
    what: str

    def __str__(self) -> str:
        return f"{self.what}, process {self.pid} on {self.host}, since {self.since}"


@contextmanager
def writing(home: Path) -> Iterator[None]:
    """Hold the lock for writing one asset's partition. If another writer has the lock, wait for it.

    Raises:
        StoreError: the folder cannot be written.
    """
    with alone(home / ".lock", results=home):
        yield


@contextmanager
def writing_now(home: Path) -> Iterator[bool]:
    """Try to take the lock of `writing` without waiting, and yield whether this process has the lock."""
    with alone_now(home / ".lock") as held:
        yield held


@contextmanager
def alone(path: Path, *, results: Path) -> Iterator[None]:
    """Hold the lock on a file. Only one process of this machine can hold the lock at a time.

    `results`: the folder that will be written.

    Raises:
        StoreError: the file cannot be written.
    """
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=1)
        except Timeout:
            _log.info("waiting for another process that is writing %s", results)
            lock.acquire()
    except OSError as error:
        raise StoreError(
            f"results cannot be stored in {results} ({error.strerror}); make this folder writable or set AFLITE_HOME"
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def alone_now(path: Path) -> Iterator[bool]:
    """Try to take the lock of `alone` without waiting, and yield whether this process has the lock.

    The folder of the lock file must exist.

    Raises:
        StoreError: the file cannot be written.
    """
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    except OSError as error:
        raise StoreError(
            f"the lock {path} cannot be taken ({error.strerror}); make it and its folder writable, or run as their "
            "owner"
        ) from error
    try:
        yield True
    finally:
        lock.release()


@contextmanager
def running(folder: Path, partition: str, *, what: str, wait: float) -> Iterator[None]:
    """Hold the lock for running one dataset; see `ResultStore.dataset_lock`."""
    path = folder / f"{partition}.lock"
    if path in _HELD.get():
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        _acquire(lock, partition, wait)
    except OSError as error:
        raise StoreError(
            f"the lock of {partition!r} cannot be written in {folder} ({error.strerror}); make this folder writable "
            "or set AFLITE_HOME"
        ) from error
    held = _HELD.set(_HELD.get() | {path})
    note = path.with_suffix(".json")
    try:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(note, {"pid": os.getpid(), "host": platform.node(), "since": now, "what": what})
        yield
    finally:
        _HELD.reset(held)
        note.unlink(missing_ok=True)
        lock.release()


def _acquire(lock: FileLock, partition: str, wait: float) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        holder = read_holder(Path(lock.lock_file))
        if wait:
            _log.info("waiting for the end of the current run of %s: %s", partition, holder or "another process")
        try:
            lock.acquire(timeout=wait, poll_interval=0.2)
        except Timeout:
            raise DatasetBusyError(
                f"{partition!r} is being run ({holder or 'by an unknown process'}); wait for its "
                "end, or stop that process, and try again"
            ) from None


def read_holder(lock: Path) -> Holder | None:
    """Return the last process that recorded itself as holder of a dataset's lock.

    The process may have ended without removing the record.
    """
    try:
        return Holder(**json.loads(lock.with_suffix(".json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def occupant(locks: Path, partition: str) -> str | None:
    """Return the process that runs a dataset now, or None.

    `locks`: the folder with the locks of datasets.
    """
    lock = locks / f"{partition}.lock"
    if not lock.exists() or is_free(lock):
        return None
    return str(read_holder(lock) or "an unknown process")


def is_free(lock: Path) -> bool:
    """Return True if no process holds the lock on a file.

    Raises:
        StoreError: the file cannot be written.
    """
    with alone_now(lock) as free:
        return free


@contextmanager
def reading(results: Iterable[PublishedResult]) -> Iterator[None]:
    """Mark results as being read. Prune then does not remove the results or their parts. The marks are removed when the
    block or the process ends.

    Raises:
        StoreError: a result's folder does not exist.
    """
    with ExitStack() as stack:
        for result in results:
            stack.enter_context(_shared(result))
        yield


@contextmanager
def _shared(result: PublishedResult) -> Iterator[None]:
    gone = f"{result.asset} of {result.partition!r} has no result {result.path} any more; materialise it again"
    try:
        opened = os.open(result.path, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        raise StoreError(gone) from None
    try:
        fcntl.flock(opened, fcntl.LOCK_SH)
        # Prune may have moved the folder away between opening and marking it.
        if not result.path.is_dir() or os.fstat(opened).st_ino != result.path.stat().st_ino:
            raise StoreError(gone)
        yield
    finally:
        os.close(opened)


@contextmanager
def unread(folder: Path) -> Iterator[bool]:
    """Yield True if no reader has marked a result's folder, else False. No reader can mark the folder while the block
    runs.
    """
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(opened)
