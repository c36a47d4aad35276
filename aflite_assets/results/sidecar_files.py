"""Files that are computed from a published result. Each file is stored next to the result, so that its content is
computed only once.

<root>/<asset>/<partition>/shown/<key>-<name>-<version>.json

The files are not part of the result: no data version depends on them, and computing them again takes only seconds.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from aflite_assets.results.files import read_json, write_json
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
    text = _read(path, result.data_version)
    if text is None:
        text = json.dumps(make())
        _write(path, {"data_version": result.data_version, "sha256": _sha256(text), "value": text})
        for older in path.parent.glob(f"{result.key}-{name}-*.json"):
            if older != path:
                older.unlink(missing_ok=True)
    return json.loads(text)


@cache
def sources_version(files: tuple[Path, ...]) -> str:
    """Return a hash, 12 hexadecimal digits, of the content of `files`, which are code files or folders of code
    files.
    """
    digest = hashlib.sha256()
    for path in _expanded(files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _expanded(files: Iterable[Path]) -> list[Path]:
    return [file for path in files for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]


def _read(path: Path, data_version: str) -> str | None:
    try:
        content = read_json(path)
        text, digest = content["value"], content["sha256"]
        sound = content["data_version"] == data_version and _sha256(text) == digest
        json.loads(text)  # may contain NaN, unlike other JSON files of the store
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return str(text) if sound else None


def _write(path: Path, content: dict[str, str]) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        write_json(path, content)
    except OSError as error:
        _log.warning("%s could not be written (%s)", path, error.strerror)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
