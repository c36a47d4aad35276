"""Locks and reader marks. Locks allow one writer per asset and partition, and one run per dataset. Marks of readers
protect results from prune.
"""

import fcntl
import logging
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from aflite_assets.errors import DatasetBusyError, StoreError
from aflite_assets.results.files import read_json, write_json
from aflite_assets.results.records import PublishedResult

_log = logging.getLogger(__name__)
_HELD: ContextVar[frozenset[Path]] = ContextVar("held dataset locks", default=frozenset())


def writing(home: Path, *, wait: float = -1) -> AbstractContextManager[bool]:
    """Hold the lock for writing one asset's partition; see `locked`."""
    return locked(home / ".lock", wait=wait)


@contextmanager
def locked(path: Path, *, wait: float = -1, owner: Callable[[], str] | None = None) -> Iterator[bool]:
    """Hold the lock on a file, and yield True. Only one process of this machine can hold the lock at a time.

    `wait`: seconds to wait for another process; a negative number means no limit. If the other process still holds the
    lock, yield False. `owner`: a function that describes the other process, for the log.

    Raises:
        StoreError: the file cannot be written.
    """
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = _acquired(lock, 1 if wait < 0 else 0)
        if not held and wait:
            _log.info("waiting for %s", owner() if owner else f"another process that is writing {path.parent}")
            held = _acquired(lock, wait)
    except OSError as error:
        raise StoreError(
            f"results cannot be stored in {path.parent}: the lock {path.name} cannot be taken ({error.strerror}); make "
            "this folder writable or set AFLITE_HOME"
        ) from error
    try:
        yield held
    finally:
        lock.release()


def _acquired(lock: FileLock, seconds: float) -> bool:
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        return False
    return True


@contextmanager
def running(folder: Path, partition: str, *, what: str, wait: float) -> Iterator[None]:
    """Hold the lock for running one dataset; see `ResultStore.dataset_lock`."""
    path = folder / f"{partition}.lock"
    if path in _HELD.get():
        yield
        return

    def owner() -> str:
        return f"the end of the current run of {partition}: {read_holder(path)}"

    with locked(path, wait=wait, owner=owner) as is_held:
        if not is_held:
            raise DatasetBusyError(
                f"{partition!r} is being run ({read_holder(path)}); wait for its end, or stop that process, and try "
                "again"
            )
        before = _HELD.set(_HELD.get() | {path})
        note = path.with_suffix(".json")
        try:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            write_json(note, {"holder": f"{what}, process {os.getpid()} on {platform.node()}, since {now}"})
            yield
        finally:
            _HELD.reset(before)
            note.unlink(missing_ok=True)


def read_holder(lock: Path) -> str:
    """Return the process that last recorded itself as holder of a dataset's lock: its purpose, process id, host and
    start (ISO 8601, UTC).

    The process may have ended without removing the record.
    """
    try:
        return str(read_json(lock.with_suffix(".json"))["holder"])
    except (OSError, ValueError, KeyError, TypeError):
        return "an unknown process"


def occupant(locks: Path, partition: str) -> str | None:
    """Return the process that runs a dataset now, or None.

    `locks`: the folder with the locks of datasets.
    """
    lock = locks / f"{partition}.lock"
    return None if not lock.exists() or is_free(lock) else read_holder(lock)


def is_free(lock: Path) -> bool:
    """Return True if no process holds the lock on a file; see `locked`."""
    with locked(lock, wait=0) as free:
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
            try:
                there = stack.enter_context(_marked(result.path, fcntl.LOCK_SH))
            except FileNotFoundError:
                there = False
            if not there:
                raise StoreError(
                    f"{result.asset} of {result.partition!r} has no result {result.path} any more; materialise it again"
                )
        yield


def unread(folder: Path) -> AbstractContextManager[bool]:
    """Yield True if no reader has marked a result's folder, else False. No reader can mark the folder while the block
    runs.
    """
    return _marked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def _marked(folder: Path, operation: int) -> Iterator[bool]:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(opened, operation)
        except BlockingIOError:
            yield False
            return
        # Prune may have moved the folder away between opening and marking it.
        yield os.path.samestat(os.fstat(opened), folder.stat())
    finally:
        os.close(opened)
