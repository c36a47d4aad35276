"""Manifests: computing the hash of a manifest, which the manifest contains, and checking whether a manifest belongs to
its folder.

The hash covers everything in a manifest, in order: key, inputs, files, parts, summary, provenance, environment and
time. The hash reveals damage, edits by hand and manifests copied over other manifests. The hash does not reveal changes
by a person who can write to the store and who computes the hash again. A manifest without a hash counts as damaged.
"""

import hashlib
import json
import math
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from aflite_assets import __version__
from aflite_assets.processors import threads_per_step
from aflite_assets.results.files import MOST_JSON, file_sha256, folder_files, read_json, write_json
from aflite_assets.results.keys import ResultKey, is_digest

MANIFEST = "manifest.json"
HASH = "manifest_sha256"
"""Field of a manifest with the hash of all its other fields."""
_HASH_BYTES = 200
"""Upper limit of the bytes that the hash and its name add to a manifest."""
_CONTRADICTION = "contradicts itself"
_LIBRARIES = (
    "datasets", "mlflow", "numpy", "pyarrow", "scikit-learn", "timm", "torch", "transformers",
)  # fmt: skip


def write_manifest(
    folder: Path,
    asset: str,
    partition: str,
    key: ResultKey,
    *,
    parts: Mapping[str, Mapping[str, str]],
    summary: Mapping[str, Any],
    provenance: Mapping[str, Any],
) -> None:
    """Write the manifest of a result into the folder with its files. `parts`: key and data version of each part.

    Raises:
        ValueError: the manifest would be larger than a reader accepts.
    """
    paths = folder_files(folder)
    files = {name: file_sha256(path) for name, path in paths.items()}
    fields = {
        "asset": asset,
        "partition": partition,
        "key": key.digest,
        "made_from": key.as_json(),
        "data_version": content_version(files, parts),
        "files": files,
        "sizes": {name: path.stat().st_size for name, path in paths.items()},
        "parts": parts,
        "summary": _without_nan(summary),
        "provenance": provenance,
        "environment": environment(),
        "published": datetime.now(UTC).isoformat(timespec="seconds"),
        "process": os.getpid(),
    }
    write_json(folder / MANIFEST, sealed(fields))


def sealed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a manifest as they are after writing and reading JSON. The format and the hash of all fields
    are added.

    Raises:
        ValueError: a number is not finite, or the manifest would be larger than a reader accepts.
    """
    text = json.dumps(dict(fields), allow_nan=False, indent=2)
    if len(text) + _HASH_BYTES > MOST_JSON:
        raise ValueError(f"a manifest of {len(text):,} bytes is too large; put tables into files, not into the summary")
    manifest: dict[str, Any] = json.loads(text)
    manifest.pop(HASH, None)
    return {**manifest, HASH: manifest_hash(manifest)}


def manifest_hash(manifest: Mapping[str, Any]) -> str:
    """Return the hash of everything in a manifest except the hash itself, 64 hexadecimal digits.

    The order of names changes the hash.

    Raises:
        ValueError: a number is not finite.
        RecursionError: the manifest is nested too deeply.
    """
    fields = {name: value for name, value in manifest.items() if name != HASH}
    return hashlib.sha256(json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()).hexdigest()


def load_manifest(path: Path, asset: str, partition: str, key: str) -> dict[str, Any]:
    """Read the manifest of a result and check it; see `manifest_problem`.

    Raises:
        ValueError: the manifest is missing, cannot be read, or was not published here. The message begins with a verb,
            so the caller must add a subject.
    """
    try:
        manifest: dict[str, Any] = read_json(path)
    except FileNotFoundError:
        raise ValueError("is missing") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot be read ({getattr(error, 'strerror', error)})") from error
    problem = manifest_problem(manifest, asset, partition, key)
    if problem is not None:
        raise ValueError(problem)
    return manifest


def manifest_problem(manifest: Any, asset: str, partition: str, key: str) -> str | None:
    """Return a phrase that describes the problem of a manifest, or None if there is no problem. The manifest may be
    damaged or manipulated.

    A manifest without a problem has the right hash, and belongs to the asset, partition and key. The data version in
    such a manifest matches the files and parts, and the digest of the key matches the key's content. The manifest's
    keys are digests, its sizes are numbers of bytes, and its file names are relative paths that stay below the folder.
    """
    if not isinstance(manifest, Mapping):
        return _CONTRADICTION
    if HASH not in manifest:
        return "has no hash"
    try:
        is_unchanged = manifest[HASH] == manifest_hash(manifest)
    except (ValueError, RecursionError):  # an infinite number, which no published manifest contains
        is_unchanged = False
    if not is_unchanged:
        return "was changed after it was published"
    said = tuple(manifest.get(name) for name in ("asset", "partition", "key"))
    if said != (asset, partition, key) and all(isinstance(name, str) for name in said):
        own_asset, own_partition, own_key = (str(name)[:100] for name in said)
        return f"belongs to another result ({own_asset!r} of {own_partition!r}, {own_key!r})"
    try:
        return None if said == (asset, partition, key) and _is_consistent(manifest) else _CONTRADICTION
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return _CONTRADICTION


def content_version(files: Mapping[str, str], parts: Mapping[str, Mapping[str, str]]) -> str:
    """Compute the data version from the hashes of files and the data versions of parts."""
    return ResultKey("", {"files": files}, {name: part["data_version"] for name, part in parts.items()}).digest


def _is_consistent(manifest: Mapping[str, Any]) -> bool:
    made_from = manifest["made_from"]
    return (
        content_version(manifest["files"], manifest["parts"]) == manifest["data_version"]
        and is_digest(manifest["key"])
        and ResultKey(**made_from).digest == manifest["key"]
        and isinstance(made_from["fields"], dict)
        and isinstance(made_from["inputs"], dict)
        and isinstance(manifest["summary"], dict)
        and isinstance(manifest.get("provenance", {}), dict)
        and datetime.fromisoformat(manifest["published"]).tzinfo is not None
        and all(is_digest(part["key"]) for part in manifest["parts"].values())
        and all(_is_below(name) for name in manifest["files"])
        and set(manifest["sizes"]) == set(manifest["files"])
        and all(type(size) is int and size >= 0 for size in manifest["sizes"].values())
    )


def _is_below(name: str) -> bool:
    """Return True if a text is a relative path that stays below the folder to which it is joined."""
    return not any(step in ("", ".", "..") for step in name.split("/")) and b"\0" not in name.encode()


def _without_nan(value: Any) -> Any:
    """Return the value with null for NaN and infinity, which JSON cannot hold."""
    if isinstance(value, Mapping):
        return {name: _without_nan(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def environment() -> dict[str, str | int | None]:
    """Return the versions of this project, of Python and of the libraries that compute results, and facts about the
    machine.

    The facts are the system, the kind of processor, the number of cores, and the number of threads per step.
    """
    return {
        "aflite_assets": __version__,
        "python": platform.python_version(),
        **{name: _installed(name) for name in _LIBRARIES},
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": threads_per_step(),
    }


@cache
def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
