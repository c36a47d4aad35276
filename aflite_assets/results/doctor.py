"""Search for problems of a result store, with advice on each problem, and repairs that lose no data."""

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from pathlib import Path

from aflite_assets.errors import StoreAccessError, StoreError, StoreUnreachableError, UnsupportedStoreError
from aflite_assets.results.damage import Damage, damage_with_parts, own_damage
from aflite_assets.results.keys import DIGEST
from aflite_assets.results.locks import is_free, read_holder, writing
from aflite_assets.results.mounts import lock_problem
from aflite_assets.results.object_store.results import (
    ATTEMPT,
    FETCHING,
    ObjectBackend,
    discard,
    fetching,
)
from aflite_assets.results.pins import read_pins
from aflite_assets.results.prune import TRASH
from aflite_assets.results.records import WORK
from aflite_assets.results.refresh_records import FOLDER as REFRESHES
from aflite_assets.results.refresh_records import read_refreshes
from aflite_assets.results.store import ResultStore

LEFT_AFTER = timedelta(days=1)
"""Time without new objects after which an upload attempt counts as abandoned. Before that, its machine may still be
working on it.
"""
_ATTEMPTS = re.compile(
    rf"(?P<place>[a-z0-9_]+/[a-z0-9_]+/(?:parts/)?{DIGEST.pattern})/(?P<attempt>[^/]+)/.+", re.DOTALL
)
_UNREAD = "nothing reads it, and it takes up space"


@dataclass(frozen=True)
class Problem:
    """One problem: its kind, a description, advice, and whether `examine_store` has repaired the problem."""

    kind: str
    what: str
    remedy: str
    mended: bool = False


def examine_store(store: ResultStore, *, deep: bool = False, fix: bool = False) -> Iterator[Problem]:
    """Return all problems of a store, asset by asset.

    `deep`: hash all files, including files that look unchanged. `fix`: set aside damaged results and folders without a
    manifest. With `fix`, the function also removes drafts and lock files of writers that died, and the trash of an
    unfinished prune. Files of a running writer are never changed.
    """
    try:
        store.check_format()
    except (StoreAccessError, StoreUnreachableError, UnsupportedStoreError) as error:
        yield Problem("object store", str(error), "until then no result can be read or published")
        return
    except StoreError as error:
        yield Problem("store format", str(error), "until then no command may use this store")
        return
    unlocked = lock_problem(store.root)
    if unlocked is not None and not store.keeps_copies:
        remedy = "let only one machine write there, mount it with locks, or use an object store (docs/object_store.md)"
        yield Problem("locks", unlocked, remedy)
    busy = set()
    for _, _, home in ResultStore(store.root).partitions():
        with writing(home, wait=0) as free:
            if free:
                yield from _half_written(home, fix)
            else:
                busy.add(home)
        yield from _half_fetched(home, fix)
    # In an object store, every run finds a damaged result until the doctor removes it.
    first = f"run `aflite doctor{' --deep' if deep else ''} --fix`, then " if store.keeps_copies and not fix else ""
    for asset, partition, home in store.partitions():
        if home in busy:
            continue
        again = f"materialise {asset} of {partition} again"
        for damage in _damaged(store, asset, partition, deep):
            mended = fix and store.set_aside(damage)
            what = f"{store.place}/{damage.result.folder.relative_to(store.root).as_posix()}: {damage.files}"
            yield Problem("damaged result", what, f"{first}{again}", mended)
        yield from _failing("lost result", partial(_current, store, asset, partition), again)
    if isinstance(store.backend, ObjectBackend):
        yield from _abandoned(store, store.backend, fix)
        yield from _copies(store, deep, fix)
    else:
        yield from _records(store)
    yield from _locks(store, fix)


def _mended(kind: str, what: str, remedy: str, fix: bool, remove: Callable[[], object]) -> Problem:
    """Return the problem of something that nothing reads, which is removed if `fix` is set."""
    if fix:
        remove()
    return Problem(kind, what, remedy, fix)


def _half_written(home: Path, fix: bool) -> Iterator[Problem]:
    left = "was left by a writer that ended early"
    for draft in sorted((home / WORK).glob("*/draft")):
        remedy = "nothing reads it; the next run of its stage resumes from its checkpoint"
        yield _mended("half-written folder", f"{draft} {left}", remedy, fix, partial(shutil.rmtree, draft))
    for aside in sorted([*home.glob(".*.json.*"), *home.glob(".seen/.*.json.*")]):
        yield _mended("half-written file", f"{aside} {left}", "nothing reads it", fix, aside.unlink)


def _half_fetched(home: Path, fix: bool) -> Iterator[Problem]:
    for left in sorted([*home.glob(f"{FETCHING}/*-*"), *home.glob(f"parts/{FETCHING}/*-*")]):
        with fetching(left.parents[1] / left.name.partition("-")[0], wait=0) as free:
            if free and left.is_dir():
                what = f"{left} was left by a reader that ended early"
                yield _mended("half-fetched folder", what, "nothing reads it", fix, partial(shutil.rmtree, left))


def _damaged(store: ResultStore, asset: str, partition: str, deep: bool) -> Iterator[Damage]:
    """Yield damaged results with their parts, and then damaged parts that no result names.

    A folder without a manifest counts as damaged. Each part is examined once.
    """
    own, reported = cache(partial(store.backend.own_damage, deep=deep)), set()
    for there in store.published(asset, partition):
        damage = None if there.folder in reported else damage_with_parts(there, own)
        if damage is not None:
            reported |= {part.result.folder for part in damage.parts}
            yield damage


def _failing(kind: str, look: Callable[[], object], remedy: str) -> Iterator[Problem]:
    """Yield the error that a function raises about the store, as a problem."""
    try:
        look()
    except StoreError as error:
        yield Problem(kind, str(error), remedy)


def _current(store: ResultStore, asset: str, partition: str) -> None:
    if store.current_key(asset, partition) is not None:
        store.current(asset, partition)


def _records(store: ResultStore) -> Iterator[Problem]:
    remedy = "until then `aflite prune` removes nothing"
    for partition in store.backend.folders(f"{REFRESHES}/"):
        yield from _failing("record of a refresh", partial(read_refreshes, store, partition), remedy)
    yield from _failing("pin", partial(read_pins, store), remedy)


def _locks(store: ResultStore, fix: bool) -> Iterator[Problem]:
    for note in sorted(store.locks_folder.glob("[a-z0-9]*.json")):
        lock = note.with_suffix(".lock")
        holder = read_holder(lock)
        if is_free(lock):
            what = f"the run of {lock.stem} ended without releasing its lock ({holder})"
            remedy = "the lock itself is free, so no other run waits"
            yield _mended("stale lock", what, remedy, fix, partial(note.unlink, missing_ok=True))
    trash = store.root / TRASH
    if trash.is_dir() and is_free(store.locks_folder / ".prune.lock"):
        what = f"a prune was killed before it had emptied {trash}"
        yield _mended("trash", what, "run `aflite prune`", fix, partial(shutil.rmtree, trash))


def _abandoned(store: ResultStore, backend: ObjectBackend, fix: bool) -> Iterator[Problem]:
    """Yield files of uploads that published nothing or whose result was removed, and uploads in parts that began long
    ago.

    Objects of an upload that was active within the time `LEFT_AFTER` are left out.
    """
    now = backend.now()
    for asset, partition, _ in store.partitions():
        attempts = defaultdict(list)
        for each in backend.objects(f"{asset}/{partition}/"):
            match = _ATTEMPTS.fullmatch(each.name)
            if match is not None:
                attempts[match["place"], match["attempt"]].append(each)
        for (place, attempt), objects in attempts.items():
            is_young = now - max(each.changed for each in objects) < LEFT_AFTER
            if is_young or attempt == (backend.result(asset, partition, store.root / place).usable or {}).get(ATTEMPT):
                continue
            size = f"{len(objects)} files, {sum(each.size for each in objects):,} bytes"
            what = f"{backend.place}/{place}/{attempt} ({size}) belongs to no published result"
            remove = partial(backend.delete, [each.name for each in objects])
            yield _mended("orphan files", what, _UNREAD, fix, remove)
    for upload in backend.unfinished_uploads():
        if now - upload.begun >= LEFT_AFTER:
            begun = f"begun {upload.begun:%Y-%m-%d %H:%M} UTC"
            what = f"{backend.place}/{upload.name}, {begun}, was left by a writer that ended early"
            yield _mended("unfinished upload", what, _UNREAD, fix, partial(backend.give_up, upload))


def _copies(store: ResultStore, deep: bool, fix: bool) -> Iterator[Problem]:
    """Yield the problems of this machine's local copies of results in an object store."""
    here = ResultStore(store.root)
    for asset, partition, _ in here.partitions():
        for copy in here.published(asset, partition):
            reasons = "; ".join(own_damage(copy, ignore_cache=deep))
            if reasons:
                remedy = "it is fetched again at the next read"
                yield _mended("damaged copy", f"{copy.folder}: {reasons}", remedy, fix, partial(discard, copy))
