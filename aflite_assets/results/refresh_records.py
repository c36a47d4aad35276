"""Records of whole runs, with the results that each run used. Prune keeps the results of the newest runs.

<root>/refreshes/<partition>/<time>-<id>.json
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from aflite_assets.errors import StoreError
from aflite_assets.results.files import json_bytes, read_json
from aflite_assets.results.records import PublishedResult
from aflite_assets.results.store import ResultStore

FOLDER = "refreshes"
_MOMENT = "%Y%m%dT%H%M%S%fZ"


@dataclass(frozen=True)
class Refresh:
    """One whole run of a dataset; `path` is the file of the record.

    `ended`: UTC. `keys`, `data_versions`: the keys and data versions of the results that the run used, by asset.
    `made`: the assets that the run computed instead of reusing a stored result. `what`: the command or schedule that
    started the run, in words.
    """

    path: Path
    partition: str
    ended: datetime
    what: str
    keys: Mapping[str, str]
    data_versions: Mapping[str, str]
    made: tuple[str, ...] = ()


def record_refresh(
    store: ResultStore, results: Iterable[PublishedResult], *, made: Iterable[str] = (), what: str
) -> Refresh:
    """Record the results that a run used, in one step. `made`: names of the assets that the run computed.

    Raises:
        ValueError: there are no results, or they belong to several datasets.
        StoreError: the record cannot be written.
    """
    used = {result.asset: result for result in results}
    partitions = {result.partition for result in used.values()}
    if len(partitions) != 1:
        raise ValueError(f"a refresh belongs to one dataset, but these results belong to {sorted(partitions)}")
    (partition,) = partitions
    ended = datetime.now(UTC)
    path = store.root / FOLDER / partition / f"{ended.strftime(_MOMENT)}-{uuid.uuid4().hex[:8]}.json"
    keys = {name: result.key for name, result in used.items()}
    data_versions = {name: result.data_version for name, result in used.items()}
    refresh = Refresh(path, partition, ended, what, keys, data_versions, tuple(made))
    fields = {**asdict(refresh), "ended": ended.isoformat()}
    del fields["path"]
    try:
        store.backend.put(path.relative_to(store.root).as_posix(), json_bytes(fields))
    except OSError as error:
        raise StoreError(
            f"the record of this run cannot be written to {path.parent} ({error.strerror}); its results are "
            "published, so free some space or make the folder writable, and run again"
        ) from error
    return refresh


def read_refreshes(store: ResultStore, partition: str) -> tuple[Refresh, ...]:
    """Return every record of a dataset, newest first.

    Raises:
        StoreError: a record cannot be read.
    """
    folder = store.root / FOLDER / partition
    return tuple(_read(path) for path in sorted(folder.glob("[0-9]*.json"), reverse=True))


def newest_distinct(refreshes: Iterable[Refresh], most: int) -> list[Refresh]:
    """Return the newest records, `most` at most, of which no two used the same results.

    Otherwise, the records of a month without changes would be the newest records, and the results of earlier records
    would be pruned.
    """
    distinct: dict[tuple[tuple[str, str], ...], Refresh] = {}
    for refresh in refreshes:
        distinct.setdefault(tuple(sorted(refresh.keys.items())), refresh)
    return list(distinct.values())[:most]


def _read(path: Path) -> Refresh:
    try:
        fields = read_json(path)
        fields["ended"] = datetime.fromisoformat(fields["ended"])
        fields["made"] = tuple(fields["made"])
        refresh = Refresh(path, **fields)
        if refresh.ended.tzinfo is None or refresh.partition != path.parent.name:
            raise ValueError(
                f"the record names dataset {refresh.partition!r:.100} and time {refresh.ended}; it needs this folder's "
                "dataset and a time zone"
            )
        texts = [text for values in (refresh.keys, refresh.data_versions) for item in values.items() for text in item]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("`keys` or `data_versions` does not map assets to texts")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"the record {path} cannot be read ({error}); `aflite prune` removes nothing until you delete "
            "this record, and then its results may be removed"
        ) from error
    return refresh
