"""Locks and reader marks. Locks allow one writer per asset and partition, and one run per dataset. Marks of readers
protect results from prune.
"""

import fcntl
import json
import logging
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
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
            f"results cannot be stored in {path.parent}: the lock {path} cannot be taken ({error.strerror}); make both "
            "writable, run as their owner, or set AFLITE_HOME"
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
        return f"the end of the current run of {partition}: {read_holder(path) or 'another process'}"

    with locked(path, wait=wait, owner=owner) as is_held:
        if not is_held:
            raise DatasetBusyError(
                f"{partition!r} is being run ({read_holder(path) or 'by an unknown process'}); wait for its end, or "
                "stop that process, and try again"
            )
        before = _HELD.set(_HELD.get() | {path})
        note = path.with_suffix(".json")
        try:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            write_json(note, asdict(Holder(os.getpid(), platform.node(), now, what)))
            yield
        finally:
            _HELD.reset(before)
            note.unlink(missing_ok=True)


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
    return None if not lock.exists() or is_free(lock) else str(read_holder(lock) or "an unknown process")


def is_free(lock: Path) -> bool:
    """Return True if no process holds the lock on a file.

    Raises:
        StoreError: the file cannot be written.
    """
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
