"""Objects in a bucket that no manifest names."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from aflite_assets.results.keys import DIGEST
from aflite_assets.results.object_store.backend import ObjectBackend
from aflite_assets.results.object_store.bucket import StoredObject
from aflite_assets.results.object_store.transfer import ATTEMPT, read_manifest
from aflite_assets.results.records import MANIFEST

LEFT_AFTER = timedelta(days=1)
"""Time without new objects after which an upload attempt counts as abandoned. Before that, its machine may still be
working on it.
"""
_ATTEMPTS = re.compile(
    rf"(?P<place>[a-z0-9_]+/[a-z0-9_]+/(?:parts/)?{DIGEST.pattern})/(?P<attempt>[^/]+)/.+", re.DOTALL
)


@dataclass(frozen=True)
class Leftover:
    """Objects that occupy space although nothing reads them: their kind, a description, and how to remove them."""

    kind: str
    what: str
    remove: Callable[[], None]


def unread_objects(backend: ObjectBackend, home: str, now: datetime) -> Iterator[Leftover]:
    """Yield files below `home` that belong to an upload attempt which published nothing, or whose result was
    removed.
    """
    attempts: dict[tuple[str, str], list[StoredObject]] = defaultdict(list)
    for each in backend.bucket.objects(home):
        match = _ATTEMPTS.fullmatch(each.name)
        if match is not None:
            attempts[match["place"], match["attempt"]].append(each)
    for (place, attempt), objects in attempts.items():
        is_young = now - max(each.changed for each in objects) < LEFT_AFTER
        if is_young or _named_attempt(backend, place) == attempt:
            continue
        size = sum(each.size for each in objects)
        yield Leftover(
            "orphan files",
            f"{backend.place}/{place}/{attempt} ({len(objects)} files, {size:,} bytes) belongs to no published result",
            partial(backend.bucket.delete, [each.name for each in objects]),
        )


def unfinished_uploads(backend: ObjectBackend, now: datetime) -> Iterator[Leftover]:
    """Yield every upload in parts that began long ago and was neither completed nor aborted."""
    for upload in backend.bucket.unfinished_uploads():
        if now - upload.begun >= LEFT_AFTER:
            yield Leftover(
                "unfinished upload",
                f"{backend.place}/{upload.name}, begun {upload.begun:%Y-%m-%d %H:%M} UTC, was left by a writer that "
                "ended early",
                partial(backend.bucket.give_up, upload),
            )


def _named_attempt(backend: ObjectBackend, place: str) -> str | None:
    """Return the upload attempt that the manifest of a result names. Return None if there is no usable manifest."""
    manifest = read_manifest(backend.read(f"{place}/{MANIFEST}") or b"", place)
    return None if manifest is None else str(manifest[ATTEMPT])
