"""Where results are kept: one folder per asset, partition and key, published whole or not at all.

<root>/<asset>/<partition>/<key>/            published files and manifest.json
<root>/<asset>/<partition>/parts/<key>/      published parts, which a result names in its manifest
<root>/<asset>/<partition>/current.json      the key that downstream reads
<root>/<asset>/<partition>/.work/<key>/      what an unfinished writer left: draft/ is never read, scratch/ is
                                             for writers that resume
"""

import errno
import json
import logging
import math
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from aflite_assets.errors import StoreError
from aflite_assets.results.environment import environment
from aflite_assets.results.files import file_sha256, flush_entry, flush_folder, folder_hashes, write_json
from aflite_assets.results.keys import ResultKey
from aflite_assets.results.records import MANIFEST, PublishedResult

_NAME = re.compile(r"[a-z0-9][a-z0-9_]*")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_log = logging.getLogger(__name__)

Summary = Mapping[str, Any]
Write = Callable[["Draft"], Summary]


@dataclass(frozen=True)
class Obtained:
    """A result and whether it was found (`reused`) instead of made."""

    result: PublishedResult
    reused: bool


@dataclass
class Draft:
    """What a writer fills: files in `path` are published; `scratch` outlives a killed writer of the same key."""

    store: "ResultStore"
    asset: str
    partition: str
    key: ResultKey
    path: Path
    scratch: Path
    provenance: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, PublishedResult] = field(default_factory=dict)

    @property
    def target(self) -> Path:
        """Where a result, other than a part, will stand once it is published."""
        return self.store.root / self.asset / self.partition / self.key.digest

    def part(self, name: str, key: ResultKey, write: Write) -> Obtained:
        """Add a part with a key of its own: found if it was published before, made and published now if not."""
        obtained = self.store.obtain_part(self.asset, self.partition, key, write)
        self.parts[name] = obtained.result
        return obtained

    def found_part(self, name: str, key: ResultKey) -> PublishedResult | None:
        """Add a part if it was published before; None if it was not."""
        found = self.store.find_part(self.asset, self.partition, key)
        if found is not None:
            self.parts[name] = found
        return found


@dataclass(frozen=True)
class ResultStore:
    """Results below one folder, shared by any number of processes on one machine."""

    root: Path

    def find(self, asset: str, partition: str, key: ResultKey) -> PublishedResult | None:
        """The published result of a key, or None."""
        return self._published(asset, partition, key, self._home(asset, partition) / key.digest)

    def current(self, asset: str, partition: str) -> PublishedResult:
        """The version of an asset's partition that downstream reads.

        Raises:
            StoreError: nothing was published yet, or the folder named is gone.
        """
        home = self._home(asset, partition)
        try:
            key = json.loads((home / "current.json").read_text(encoding="utf-8"))["key"]
        except FileNotFoundError:
            raise StoreError(
                f"{asset} of {partition!r} was never materialised below {self.root}; materialise it first"
            ) from None
        if not (home / key / MANIFEST).is_file():
            raise StoreError(f"{asset} of {partition!r} lost its current result {home / key}; materialise it again")
        return PublishedResult(asset, partition, key, home / key)

    def obtain(self, asset: str, partition: str, key: ResultKey, write: Write) -> Obtained:
        """The result of a key: found, or made by `write` and published; current from then on.

        A second process that wants the same asset and partition waits for the first.

        Raises:
            StoreError: the folder cannot be written.
        """
        home = self._home(asset, partition)
        with self._locked(home), _full_disk_named(f"{asset} of {partition!r}", home):
            found = self.find(asset, partition, key)
            result = found or self._publish(asset, partition, key, home / key.digest, write)
            write_json(home / "current.json", {"key": key.digest, "data_version": result.data_version})
            shutil.rmtree(home / ".work", ignore_errors=True)  # whatever other keys left unfinished
        return Obtained(result, reused=found is not None)

    def obtain_part(self, asset: str, partition: str, key: ResultKey, write: Write) -> Obtained:
        """Like `obtain`, for a part: called while its asset's result is being written, so already under the lock."""
        found = self.find_part(asset, partition, key)
        folder = self._part_folder(asset, partition, key)
        return Obtained(found or self._publish(asset, partition, key, folder, write), reused=found is not None)

    def find_part(self, asset: str, partition: str, key: ResultKey) -> PublishedResult | None:
        """The published part of a key, or None."""
        return self._published(asset, partition, key, self._part_folder(asset, partition, key))

    def _part_folder(self, asset: str, partition: str, key: ResultKey) -> Path:
        return self._home(asset, partition) / "parts" / key.digest

    def _published(self, asset: str, partition: str, key: ResultKey, folder: Path) -> PublishedResult | None:
        exists = (folder / MANIFEST).is_file()
        return PublishedResult(asset, partition, key.digest, folder) if exists else None

    def _home(self, asset: str, partition: str) -> Path:
        for name in (asset, partition):
            if not _NAME.fullmatch(name):
                raise StoreError(f"{name!r} cannot name a result; use lower-case letters, digits and underscores")
        return self.root / asset / partition

    @contextmanager
    def _locked(self, home: Path) -> Iterator[None]:
        try:
            home.mkdir(parents=True, exist_ok=True)
            lock = FileLock(home / ".lock")
            try:
                lock.acquire(timeout=1)
            except Timeout:
                _log.info("waiting for another process that is writing %s", home)
                lock.acquire()
        except OSError as error:
            raise StoreError(
                f"results cannot be kept in {home} ({error.strerror}); make it writable or set AFLITE_HOME"
            ) from error
        try:
            yield
        finally:
            lock.release()

    def _publish(self, asset: str, partition: str, key: ResultKey, target: Path, write: Write) -> PublishedResult:
        if target.exists():
            raise StoreError(f"{target} has no {MANIFEST}, so it was not published here; move it away and try again")
        work = self._home(asset, partition) / ".work" / key.digest
        draft = Draft(self, asset, partition, key, work / "draft", work / "scratch")
        shutil.rmtree(draft.path, ignore_errors=True)
        draft.path.mkdir(parents=True)
        draft.scratch.mkdir(exist_ok=True)
        try:
            summary = write(draft)
            write_json(draft.path / MANIFEST, _manifest(draft, summary))
            flush_folder(draft.path)
            target.parent.mkdir(exist_ok=True)
            draft.path.rename(target)
        except BaseException:
            _discard(draft)
            raise
        flush_entry(target.parent)
        shutil.rmtree(work, ignore_errors=True)
        return PublishedResult(asset, partition, key.digest, target)


@contextmanager
def _full_disk_named(result: str, home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise StoreError(
            f"{result} was not published: no space is left for {home} ({error.strerror}); free some, or set "
            "AFLITE_HOME to a folder on a larger disk, and try again"
        ) from error


def _discard(draft: Draft) -> None:
    shutil.rmtree(draft.path, ignore_errors=True)
    for folder in (draft.scratch, draft.scratch.parent):
        if not any(folder.iterdir()):
            folder.rmdir()


def _manifest(draft: Draft, summary: Summary) -> dict[str, Any]:
    files = folder_hashes(draft.path)
    parts = {name: {"key": part.key, "data_version": part.data_version} for name, part in draft.parts.items()}
    content = ResultKey("", {"files": files}, {name: part["data_version"] for name, part in parts.items()})
    return {
        "asset": draft.asset,
        "partition": draft.partition,
        "key": draft.key.digest,
        "made_from": draft.key.as_json(),
        "data_version": content.digest,
        "files": files,
        "parts": parts,
        "summary": _without_nan(summary),
        "provenance": draft.provenance,
        "environment": environment(),
        "published": datetime.now(UTC).isoformat(timespec="seconds"),
        "process": os.getpid(),
    }


def _without_nan(value: Any) -> Any:
    """JSON has no number for NaN and infinity; null says that there is none."""
    if isinstance(value, Mapping):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_files(result: PublishedResult) -> list[str]:
    """Names of published files that are gone or no longer have the content of the manifest; empty when sound."""
    damaged = []
    for name, digest in result.manifest["files"].items():
        path = result.path / name
        if not path.is_file() or file_sha256(path) != digest:
            damaged.append(name)
    return damaged
