"""Whether a published folder still holds what was published: by sizes, which is cheap, or by content."""

import json
import logging
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from aflite_assets.results.files import file_sha256, write_json
from aflite_assets.results.keys import ResultKey, is_digest
from aflite_assets.results.records import MANIFEST, PublishedResult

_SEEN = ".seen"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Damage:
    """What is wrong with a published result: a phrase per file, and the parts that are damaged themselves."""

    result: PublishedResult
    reasons: tuple[str, ...]
    parts: tuple["Damage", ...] = ()

    @property
    def files(self) -> str:
        """All reasons in one line, those of parts after the result's own."""
        return "; ".join(self.reasons)


def find_damage(result: PublishedResult, *, content: bool = False, anew: bool = False) -> Damage | None:
    """What is wrong with a result or with a part that it names; None where nothing is.

    Sizes are compared, and hashes with `content`: of files whose inode, size and times are those of the last time that
    their hash was right, only with `anew`. A missing folder is not damage.
    """
    own = _own_reasons(result, content=content, anew=anew)
    if own is None:
        return None
    if _manifest_problem(result) is not None:  # its parts are unknown too
        return Damage(result, tuple(own))
    parts, reasons = [], list(own)
    for name, part in result.parts.items():
        part_damage = find_damage(part, content=content, anew=anew)
        if part_damage is not None:
            parts.append(part_damage)
            reasons += [f"part {name}: {reason}" for reason in part_damage.reasons]
        elif not part.path.is_dir():
            reasons.append(f"part {name} is gone")
        elif part.data_version != result.manifest["parts"][name]["data_version"]:
            reasons.append(f"part {name} was made again with other content")
    return Damage(result, tuple(reasons), tuple(parts)) if reasons else None


def own_damage(result: PublishedResult, *, content: bool = False) -> tuple[str, ...]:
    """What is wrong with a result's own files, whatever became of its parts; nothing where there is no folder."""
    return tuple(_own_reasons(result, content=content, anew=False) or ())


def remember_whole(result: PublishedResult) -> None:
    """Record that every file has the content of the manifest, so that it is not hashed again while it is unchanged."""
    _write_seen(result, {name: _mark(result.path / name) for name in result.manifest["files"]})


def forget(result: PublishedResult) -> None:
    """Remove that record of a folder that no longer exists."""
    _seen_file(result).unlink(missing_ok=True)


def content_version(files: dict[str, str], parts: dict[str, dict[str, str]]) -> str:
    """The data version of files by their hashes and of parts by their data versions."""
    return ResultKey("", {"files": files}, {name: part["data_version"] for name, part in parts.items()}).digest


def is_sound(manifest: Any, key: str) -> bool:
    """Whether a manifest, which anyone may have written, is of a key and leads nowhere but below its folders.

    Its data version is that of its files and parts; keys are digests, files' names relative, sizes bytes.
    """
    try:
        version = content_version(manifest["files"], manifest["parts"])
        return (
            (version, key) == (manifest["data_version"], manifest["key"])
            and is_digest(key)
            and all(is_digest(part["key"]) for part in manifest["parts"].values())
            and all(_is_below(name) for name in manifest["files"])
            and all(type(size) is int and size >= 0 for size in manifest.get("sizes", {}).values())
        )
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return False


def _is_below(name: str) -> bool:
    """Whether a file's name leads nowhere but below the folder that it is joined to, and can name a file."""
    path = PurePosixPath(name)
    plain = bool(path.parts) and not path.is_absolute() and ".." not in path.parts and str(path) == name
    return plain and b"\0" not in name.encode()


def _manifest_problem(result: PublishedResult) -> str | None:
    if not (result.path / MANIFEST).is_file():
        return f"{MANIFEST} is gone"
    try:
        manifest = result.manifest
    except (OSError, ValueError, RecursionError):
        return f"{MANIFEST} cannot be read"
    return None if is_sound(manifest, result.path.name) else f"{MANIFEST} contradicts itself"


def _own_reasons(result: PublishedResult, *, content: bool, anew: bool) -> list[str] | None:
    """What is wrong with a folder's own files; None where there is no folder."""
    if not result.path.is_dir():
        return None
    problem = _manifest_problem(result)
    if problem is not None:
        return [problem]
    sizes = _sizes(result)
    if sizes is None or content:
        return _changed_content(result, anew=anew)
    return [reason for name, size in sizes.items() if (reason := _changed_size(result.path / name, name, size))]


def _sizes(result: PublishedResult) -> dict[str, int] | None:
    """Sizes by file; None where the manifest is of before sizes were kept and the files were not hashed since."""
    if "sizes" in result.manifest:
        sizes: dict[str, int] = result.manifest["sizes"]
        return sizes
    seen = _read_seen(result)
    return {name: mark[0] for name, mark in seen.items()} if set(seen) == set(result.manifest["files"]) else None


def _changed_size(path: Path, name: str, size: int) -> str | None:
    return size_problem(name, path.stat().st_size if path.is_file() else None, size)


def size_problem(name: str, now: int | None, size: int) -> str | None:
    """What is wrong with a file that has so many bytes now, None where it is not there; None where nothing is."""
    if now is None:
        return f"{name} is gone"
    return None if now == size else f"{name} has {now:,} bytes instead of {size:,}"


def _changed_content(result: PublishedResult, *, anew: bool) -> list[str]:
    seen = _read_seen(result)
    marks, reasons = dict[str, list[int]](), []
    for name, digest in result.manifest["files"].items():
        path = result.path / name
        size = result.manifest.get("sizes", {}).get(name)
        reason = _changed_size(path, name, path.stat().st_size if size is None and path.is_file() else size or 0)
        if reason is None:
            marks[name] = _mark(path)
            whole = (seen.get(name) == marks[name] and not anew) or file_sha256(path) == digest
            reason = None if whole else f"{name} has other content"
        if reason is not None:
            reasons.append(reason)
    now = {} if reasons else marks
    if now != seen:
        _write_seen(result, now)
    return reasons


def _mark(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _seen_file(result: PublishedResult) -> Path:
    return result.path.parent / _SEEN / f"{result.path.name}.json"


def _read_seen(result: PublishedResult) -> dict[str, Any]:
    try:
        seen: dict[str, Any] = json.loads(_seen_file(result).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # an unreadable record counts as none: the files are hashed
        return {}
    return seen


def _write_seen(result: PublishedResult, marks: dict[str, list[int]]) -> None:
    path = _seen_file(result)
    try:
        path.parent.mkdir(exist_ok=True)
        write_json(path, marks)
    except OSError as error:  # a full disk or a store that may only be read: the files are hashed again next time
        _log.debug("%s was not written: %s", path, error)
