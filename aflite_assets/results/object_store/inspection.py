"""Faults in a bucket: results whose files are gone, and what lies there that nothing names."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from aflite_assets.errors import LostObjectsError, StoreError
from aflite_assets.results.damage import size_problem
from aflite_assets.results.keys import DIGEST, is_digest
from aflite_assets.results.object_store.bucket import Bucket, StoredObject, UnfinishedUpload
from aflite_assets.results.object_store.store import ObjectResultStore
from aflite_assets.results.object_store.transfer import ATTEMPT, read_manifest
from aflite_assets.results.records import MANIFEST, PublishedResult

LEFT_AFTER = timedelta(days=1)
"""So long nothing new may arrive of a try to publish before it counts as given up: its machine may still work on it."""
_PLACE = re.compile(rf"(?P<place>[a-z0-9_]+/[a-z0-9_]+/(?:parts/)?{DIGEST.pattern})/(?P<rest>.+)", re.DOTALL)


@dataclass(frozen=True)
class Finding:
    """One problem in a bucket: its kind, what was found, what to do, and what mends it without loss, if anything.

    `mend` returns whether it did: what was published again meanwhile stays.
    """

    kind: str
    what: str
    remedy: str
    mend: Callable[[], bool] | None = None


@dataclass
class _Place:
    """Objects below one result's name: its manifest as it is there, and the objects of each try, by name."""

    body: bytes | None = None
    attempts: dict[str, dict[str, StoredObject]] = field(default_factory=lambda: defaultdict(dict))


def examine_bucket(store: ObjectResultStore, *, deep: bool = False) -> Iterator[Finding]:
    """Every problem of a bucket, dataset by dataset; `deep` reads every byte and compares hashes, not sizes.

    Raises:
        StoreError: the bucket cannot be looked through.
    """
    bucket, now = store.bucket, store.bucket.now()
    for asset, partition, _ in store.partitions():
        places = _places(bucket, f"{asset}/{partition}/")
        manifests = {name: _manifest(place, name) for name, place in places.items()}
        damaged: dict[str, list[str]] = {}
        # Parts first: what names a damaged one is damaged too.
        for name in sorted(places, key=lambda name: ("/parts/" not in name, name)):
            wrong = list(_damage(bucket, name, places[name], manifests, damaged, deep=deep))
            if wrong:  # a result may have been published while the listing went on
                _look_again(bucket, name, places, manifests)
                wrong = list(_damage(bucket, name, places[name], manifests, damaged, deep=deep))
            place = places[name]
            if wrong:
                damaged[name] = wrong
                result = PublishedResult(asset, partition, name.rpartition("/")[2], store.root / name)
                yield Finding(
                    "damaged result",
                    f"{store.place}/{name}: {'; '.join(wrong)}",
                    f"materialise {asset} of {partition} again",
                    partial(store.withdraw, result, place.body, "; ".join(wrong)),
                )
            yield from _orphans(store, name, place, manifests[name], now)
        yield from _current(store, asset, partition)
    for upload in bucket.unfinished_uploads():
        if now - upload.begun >= LEFT_AFTER:
            yield Finding(
                "unfinished upload",
                f"{store.place}/{upload.name}, begun {upload.begun:%Y-%m-%d %H:%M} UTC, was left by a writer that "
                "ended early",
                "nothing reads it, and it takes up space",
                partial(_given_up, bucket, upload),
            )


def local_copies(root: Path) -> Iterator[PublishedResult]:
    """Yield this machine's copies of results and parts."""
    for manifest in sorted([*root.glob(f"*/*/*/{MANIFEST}"), *root.glob(f"*/*/parts/*/{MANIFEST}")]):
        folder = manifest.parent
        if is_digest(folder.name):
            asset, partition = folder.relative_to(root).parts[:2]
            yield PublishedResult(asset, partition, folder.name, folder)


def _places(bucket: Bucket, home: str) -> dict[str, _Place]:
    places: dict[str, _Place] = defaultdict(_Place)
    for each in bucket.objects(home):
        match = _PLACE.fullmatch(each.name)
        if match is None:
            continue
        attempt, slash, rest = match["rest"].partition("/")
        if slash:
            places[match["place"]].attempts[attempt][rest] = each
        elif attempt == MANIFEST:
            content = bucket.get(each.name)
            places[match["place"]].body = None if content is None else content.body
    return dict(places)


def _look_again(
    bucket: Bucket, name: str, places: dict[str, _Place], manifests: dict[str, dict[str, Any] | None]
) -> None:
    """Take in what lies below a result's name, and below those of its parts, by now."""

    def look(looked_at: str) -> None:
        places[looked_at] = _places(bucket, f"{looked_at}/").get(looked_at, _Place())
        manifests[looked_at] = _manifest(places[looked_at], looked_at)

    look(name)
    home = "/".join(name.split("/")[:2])
    for part in (manifests[name] or {"parts": {}})["parts"].values():
        look(f"{home}/parts/{part['key']}")


def _manifest(place: _Place, name: str) -> dict[str, Any] | None:
    return None if place.body is None else read_manifest(place.body, name)


def _damage(
    bucket: Bucket,
    name: str,
    place: _Place,
    manifests: Mapping[str, dict[str, Any] | None],
    damaged: Mapping[str, list[str]],
    *,
    deep: bool,
) -> Iterator[str]:
    """Yield faults of a published result; none where none is published. `damaged`: what was found before."""
    manifest = manifests[name]
    if place.body is None:
        return
    if manifest is None:
        yield f"{MANIFEST} cannot be used"
        return
    there = place.attempts.get(manifest[ATTEMPT], {})
    for file, size in manifest["sizes"].items():
        problem = size_problem(file, there[file].size if file in there else None, size)
        if problem is not None:
            yield problem
        elif deep and not _has_hash(bucket, there[file].name, manifest["files"][file]):
            yield f"the content of {file} has changed"
    home = "/".join(name.split("/")[:2])
    for label, part in manifest["parts"].items():
        part_name = f"{home}/parts/{part['key']}"
        found = manifests.get(part_name)
        yield from (f"part {label}: {reason}" for reason in damaged.get(part_name, ()))
        if part_name in damaged:
            continue
        if found is None:
            yield f"part {label} is missing"
        elif found["data_version"] != part["data_version"]:
            yield f"part {label} was computed again with other content"


def _has_hash(bucket: Bucket, name: str, digest: str) -> bool:
    try:
        return bucket.sha256(name) == digest
    except LostObjectsError:
        return False


def _orphans(
    store: ObjectResultStore, name: str, place: _Place, manifest: Mapping[str, Any] | None, now: datetime
) -> Iterator[Finding]:
    """Files of tries that published nothing, or whose result was withdrawn."""
    for attempt, objects in place.attempts.items():
        named = manifest is not None and manifest[ATTEMPT] == attempt
        if named or now - max(each.changed for each in objects.values()) < LEFT_AFTER:
            continue
        size = sum(each.size for each in objects.values())
        yield Finding(
            "orphan files",
            f"{store.place}/{name}/{attempt} ({len(objects)} files, {size:,} bytes) belongs to no published result",
            "nothing reads it, and it takes up space",
            partial(_removed, store.bucket, [each.name for each in objects.values()]),
        )


def _removed(bucket: Bucket, names: list[str]) -> bool:
    bucket.delete(names)
    return True


def _given_up(bucket: Bucket, upload: UnfinishedUpload) -> bool:
    bucket.give_up(upload)
    return True


def _current(store: ObjectResultStore, asset: str, partition: str) -> Iterator[Finding]:
    try:
        if store.current_key(asset, partition) is not None:
            store.current(asset, partition)
    except StoreError as error:
        yield Finding("lost result", str(error).partition(";")[0], f"materialise {asset} of {partition} again")
