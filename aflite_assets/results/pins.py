"""Pins: results that prune never removes, for example because their folder was shared with others.

<root>/pins/<partition>/<asset>-<key>.json
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from aflite_assets.errors import StoreError
from aflite_assets.results.files import json_bytes, read_json
from aflite_assets.results.records import PublishedResult
from aflite_assets.results.store import ResultStore

FOLDER = "pins"
_NO_PINS = "nothing is pruned there, so pins are not needed"


@dataclass(frozen=True)
class Pin:
    """A result that prune keeps. `note`: the reason why the result is kept. `pinned`: the time at which the result was
    pinned (ISO 8601, UTC).
    """

    asset: str
    partition: str
    key: str
    data_version: str
    pinned: str
    note: str = ""


def pin(store: ResultStore, results: list[PublishedResult], *, note: str = "") -> list[Pin]:
    """Keep results until they are unpinned. If a result is already pinned, its note is replaced.

    Raises:
        StoreError: the pin cannot be written.
        UnsupportedStoreError: the results are in an object store.
    """
    store.needs_folder("aflite pin", instead=_NO_PINS)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    pins = [Pin(result.asset, result.partition, result.key, result.data_version, now, note) for result in results]
    for new_pin in pins:
        path = _path(store, new_pin)
        try:
            store.backend.put(path.relative_to(store.root).as_posix(), json_bytes(asdict(new_pin)))
        except OSError as error:
            raise StoreError(
                f"{new_pin.asset} of {new_pin.partition!r} was not pinned: {path.parent} cannot be written "
                f"({error.strerror}); free some space or make the folder writable"
            ) from error
    return pins


def unpin(store: ResultStore, partition: str, asset: str | None = None) -> list[Pin]:
    """Remove every pin of a dataset, or every pin of one asset of the dataset. Return the removed pins."""
    gone = [pinned for pinned in read_pins(store) if pinned.partition == partition and asset in (None, pinned.asset)]
    for pinned in gone:
        _path(store, pinned).unlink(missing_ok=True)
    return gone


def read_pins(store: ResultStore) -> list[Pin]:
    """Return every pin, by dataset and asset.

    Raises:
        StoreError: a pin cannot be read. As long as a pin cannot be read, no result may be removed.
        UnsupportedStoreError: the results are in an object store.
    """
    store.needs_folder("aflite pin", instead=_NO_PINS)
    return [_read(path) for path in sorted((store.root / FOLDER).glob("*/[a-z0-9]*.json"))]


def _path(store: ResultStore, pinned: Pin) -> Path:
    return store.root / FOLDER / pinned.partition / f"{pinned.asset}-{pinned.key}.json"


def _read(path: Path) -> Pin:
    try:
        found = Pin(**read_json(path))
        if not all(isinstance(value, str) for value in asdict(found).values()):
            raise ValueError("a value in the file is not a text")
        # Unpinning removes the file that the content names, so it must be this one.
        if (path.parent.name, path.name) != (found.partition, f"{found.asset}-{found.key}.json"):
            raise ValueError(
                f"the content names {found.asset[:100]!r} of {found.partition[:100]!r}, but the file name does not"
            )
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"the pin {path} cannot be read ({error}); delete it and pin the result again") from error
    return found
