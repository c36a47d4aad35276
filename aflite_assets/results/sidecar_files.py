"""Files that are computed from a published result. Each file is stored next to the result, so that its content is
computed only once.

<root>/<asset>/<partition>/shown/<key>-<name>-<version>.json

The files are not part of the result: no data version depends on them, and computing them again takes only seconds.
"""

import hashlib
import json
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from aflite_assets.results.files import read_json, write_json
from aflite_assets.results.manifests import HASH, manifest_hash, sealed
from aflite_assets.results.records import PublishedResult

FOLDER = "shown"
_log = logging.getLogger(__name__)


def kept_beside(result: PublishedResult, name: str, *, version: str, make: Callable[[], Any]) -> Any:
    """Return the JSON value that `make` returns. The value is cached for the result's data version and for the
    `version` of the code.

    If the file is missing, damaged or of another version, the value is computed again. If the file cannot be written,
    the error is logged, and the value is computed again the next time.
    """
    path = result.path.parent / FOLDER / f"{result.key}-{name}-{version}.json"
    kept = _read(path, result.data_version)
    if kept is not None:
        return kept
    text = json.dumps(make())  # may contain NaN, unlike other JSON files of the store
    try:
        path.parent.mkdir(exist_ok=True)
        write_json(path, sealed({"data_version": result.data_version, "value": text}))
    except (OSError, ValueError) as error:  # a full disk, or a value that is larger than a reader accepts
        _log.warning("%s could not be written (%s)", path, getattr(error, "strerror", error))
    for older in path.parent.glob(f"{result.key}-{name}-*.json"):
        if older != path:
            older.unlink(missing_ok=True)
    return json.loads(text)


def _read(path: Path, data_version: str) -> Any:
    """Return the stored value, or None if it is missing, damaged or of another data version."""
    try:
        content = read_json(path)
        sound = content[HASH] == manifest_hash(content) and content["data_version"] == data_version
        return json.loads(content["value"]) if sound else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


@cache
def sources_version(files: tuple[Path, ...]) -> str:
    """Return a hash, 12 hexadecimal digits, of the content of `files`, which are code files or folders of code
    files.
    """
    digest = hashlib.sha256()
    for place in files:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
