"""Check whether a published folder still has its published content.

A manifest is compared with its own hash (`manifests`), and files are compared with the manifest. `.seen/<key>.json`
stores each file's size, times and inode at the time of the last successful check. A file with the same size, times and
inode counts as unchanged; any other file is hashed. After a store is copied or restored, each file is hashed once, when
its result is first used. Later checks cost one `stat` call per file. If `.seen/<key>.json` cannot be written because
the store is read-only, its content is kept in memory until the process ends.

A check with the record does not find two kinds of damage. First, a disk fault may change bytes of a file, but not its
size, its times or its inode. Second, a write within a few milliseconds after publication may leave the times unchanged,
because file systems store times coarsely. With `ignore_cache=True` (as in `aflite doctor --deep`), `find_damage` hashes
every file and therefore finds all changed bytes. A person who can write to the store and also changes the hashes is not
detected.
"""

import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from aflite_assets.errors import DamagedManifestError, LostObjectsError
from aflite_assets.results.files import file_sha256, read_json, write_json
from aflite_assets.results.records import MANIFEST, PublishedResult

_SEEN = ".seen"
_WRONG = "other content"
"""Last value in the `.seen` record of a file that was hashed and found damaged, so that the file is not hashed in every
check.
"""
_READ_SUFFIXES = frozenset({".csv", ".json", ".npy", ".parquet", ".safetensors"})
"""Suffixes of files that stages read. Hidden files are excluded, such as those that other systems put next to each
file.
"""
_LARGE = 1 << 30
"""Size in bytes from which hashing a file takes seconds and is therefore logged."""
_unwritten: dict[Path, dict[str, Any]] = {}
"""Contents of `.seen` files that could not be written, by path."""
_log = logging.getLogger(__name__)
Own = Callable[[PublishedResult], tuple[str, ...]]


class Look(Enum):
    """Reason why a result is checked.

    The reason decides how many requests are sent to an object store; a folder is checked in the same way for each
    reason except `LISTED`.
    """

    LISTED = "to name it to readers, who look for themselves"
    FOUND = "to find it by its key"
    REUSED = "to use it again instead of making it"
    READ = "to make something from its files, which must be on this machine then"


@dataclass(frozen=True)
class Damage:
    """Damage of a published result: one phrase per problem, and the damaged parts."""

    result: PublishedResult
    reasons: tuple[str, ...]
    parts: tuple["Damage", ...] = ()

    @property
    def files(self) -> str:
        """All problems in one line: first the problems of the result itself, and then those of its parts."""
        return "; ".join(self.reasons)


def find_damage(result: PublishedResult, *, ignore_cache: bool = False) -> Damage | None:
    """Return the damage of a result in a folder, including the parts that its manifest names; see `own_damage`."""
    return damage_with_parts(result, partial(own_damage, ignore_cache=ignore_cache))


def damage_with_parts(result: PublishedResult, own: Own) -> Damage | None:
    """Return the damage of a result and of the parts that its manifest names.

    Return None if there is no damage or if the result is missing. `own`: a function that returns a phrase for each
    problem of an existing result's own manifest and files.
    """
    if not result.exists:
        return None
    reasons, damaged = list(own(result)), []
    try:
        named = result.parts
    except (DamagedManifestError, LostObjectsError):  # its parts are unknown too
        named = {}
    for name, part in named.items():
        of_part = damage_with_parts(part, own)
        if of_part is not None:
            damaged.append(of_part)
            reasons += [f"part {name}: {reason}" for reason in of_part.reasons]
        elif not part.exists:
            reasons.append(f"part {name} is missing")
        elif part.data_version != result.manifest["parts"][name]["data_version"]:
            reasons.append(f"part {name} was computed again with other content")
    return Damage(result, tuple(reasons), tuple(damaged)) if reasons else None


def own_damage(result: PublishedResult, *, ignore_cache: bool = False) -> tuple[str, ...]:
    """Return the damage of a result's own files, without its parts. Return an empty tuple if there is no folder.

    A file whose size, times and inode are the same as in the last successful check is only hashed if `ignore_cache` is
    True.
    """
    if not result.path.is_dir():
        return ()
    problem = manifest_damage(result)
    return (problem,) if problem is not None else tuple(_changed_files(result, ignore_cache=ignore_cache))


def manifest_damage(result: PublishedResult) -> str | None:
    """Return the damage of a result's manifest, or None. Files and parts are not checked."""
    try:
        _ = result.manifest
    except DamagedManifestError as error:
        return error.problem
    return None


def record_verified(result: PublishedResult) -> None:
    """Record that every file has the content that the manifest states. Files that do not change are then not hashed
    again.
    """
    _write_seen(result, {name: _mark((result.path / name).stat()) for name in result.manifest["files"]})


def forget(result: PublishedResult) -> None:
    """Remove the record of the last check. Call this function for a folder that no longer exists."""
    path = _seen_file(result)
    _unwritten.pop(path, None)
    with suppress(NotADirectoryError, IsADirectoryError):  # a folder at this path counts as no record
        path.unlink(missing_ok=True)


def size_problem(name: str, now: int | None, size: int) -> str | None:
    """Return a description of the wrong size of a file, or None if the size is right. `now` is the present size, or
    None for a missing file.
    """
    if now is None:
        return f"{name} is missing"
    return None if now == size else f"{name} has {now:,} bytes instead of {size:,}"


def _changed_files(result: PublishedResult, *, ignore_cache: bool) -> list[str]:
    """Return the damage of a result's files, and record the undamaged files. The manifest must be intact."""
    manifest, seen = result.manifest, _read_seen(result)
    known = {} if ignore_cache else seen
    folder, sizes = str(result.path), manifest["sizes"]
    now: dict[str, Any] = {}
    reasons = []
    for name, digest in manifest["files"].items():
        mark, reason = _examined(folder, name, digest, sizes[name], known.get(name))
        if mark:
            now[name] = mark
        if reason is not None:
            reasons.append(reason)
    if now != seen:
        _write_seen(result, now)
    return [*reasons, *_unpublished(result.path, manifest["files"])]


def _examined(folder: str, name: str, digest: str, size: int, known: Any) -> tuple[list[Any], str | None]:
    """Return the new `.seen` record of a file, and the file's damage.

    `known`: the record from the last check.
    """
    path = os.path.join(folder, name)
    try:
        status = os.stat(path)
        mark, regular = _mark(status), stat.S_ISREG(status.st_mode)
        problem = size_problem(name, status.st_size if regular else None, size)
        if problem is not None:
            return [], problem
        wrong, other_content = [*mark, _WRONG], f"the content of {name} has changed"
        if known in (mark, wrong):
            return known, other_content if known == wrong else None
        if status.st_size >= _LARGE:
            _log.info("hashing %s (%.1f GB), which is new or has a new modification time", path, status.st_size / 1e9)
        return (mark, None) if file_sha256(Path(path)) == digest else (wrong, other_content)
    except (FileNotFoundError, NotADirectoryError):
        return [], f"{name} is missing"
    except OSError as error:
        return [], f"{name} cannot be read ({error.strerror})"


def _unpublished(folder: Path, files: Mapping[str, str]) -> Iterator[str]:
    """Yield files that the manifest does not name and whose suffix is one that stages read.

    An additional file would change the input of stages that read all files of a folder.
    """
    for place, _, names in os.walk(folder):
        inner = os.path.relpath(place, folder)
        for last in sorted(names):
            name = last if inner == "." else f"{inner}/{last}"
            is_read = os.path.splitext(last)[1] in _READ_SUFFIXES and not last.startswith(".")
            if is_read and name not in files and name != MANIFEST:
                yield f"{name} was not published"


def _mark(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _seen_file(result: PublishedResult) -> Path:
    return result.folder.parent / _SEEN / f"{result.folder.name}.json"


def _read_seen(result: PublishedResult) -> dict[str, Any]:
    path = _seen_file(result)
    if path in _unwritten:
        return _unwritten[path]
    try:
        seen = read_json(path)
    except (OSError, ValueError):  # an unreadable record counts as missing, so the files are hashed
        return {}
    return seen if isinstance(seen, dict) else {}


def _write_seen(result: PublishedResult, marks: dict[str, Any]) -> None:
    path = _seen_file(result)
    try:
        path.parent.mkdir(exist_ok=True)
        write_json(path, marks)
        _unwritten.pop(path, None)
    except OSError as error:  # a full disk or a read-only store
        _unwritten[path] = marks
        _log.debug("%s was not written: %s", path, error)
