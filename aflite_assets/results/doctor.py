"""Search for problems of a result store, with advice on each problem, and repairs that lose no data."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from aflite_assets.errors import StoreAccessError, StoreError, StoreUnreachableError, UnsupportedStoreError
from aflite_assets.results.damage import Damage, own_damage
from aflite_assets.results.folder_store.mounts import lock_problem
from aflite_assets.results.keys import is_digest
from aflite_assets.results.locks import is_free, read_holder, writing_now
from aflite_assets.results.object_store.backend import ObjectBackend
from aflite_assets.results.object_store.inspection import Leftover, unfinished_uploads, unread_objects
from aflite_assets.results.object_store.transfer import FETCHING, discard, fetching_now
from aflite_assets.results.pins import read_pins
from aflite_assets.results.prune import TRASH
from aflite_assets.results.records import WORK
from aflite_assets.results.refresh_records import read_refreshes, recorded_partitions
from aflite_assets.results.store import ResultStore


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
        with writing_now(home) as free:
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
        for damage in _damaged(store, asset, partition, deep):
            mended = fix and store.set_aside(damage)
            what = f"{store.place}/{damage.result.folder.relative_to(store.root).as_posix()}: {damage.files}"
            yield Problem("damaged result", what, f"{first}materialise {asset} of {partition} again", mended)
        yield from _current(store, asset, partition)
    if isinstance(store.backend, ObjectBackend):
        yield from _unread(store, store.backend, fix)
        yield from _copies(store, deep, fix)
    else:
        yield from _records(store)
        yield from _trash(store, fix)
    yield from _locks(store, fix)


def _unread(store: ResultStore, backend: ObjectBackend, fix: bool) -> Iterator[Problem]:
    """Yield objects in an object store that nothing reads. Objects of an upload that was active within the last day are
    left out.
    """
    now = backend.now()

    def found() -> Iterator[Leftover]:
        for asset, partition, _ in store.partitions():
            yield from unread_objects(backend, f"{asset}/{partition}/", now)
        yield from unfinished_uploads(backend, now)

    for leftover in found():
        if fix:
            leftover.remove()
        yield Problem(leftover.kind, leftover.what, "nothing reads it, and it takes up space", fix)


def _half_fetched(home: Path, fix: bool) -> Iterator[Problem]:
    for left in sorted([*home.glob(f"{FETCHING}/*-*"), *home.glob(f"parts/{FETCHING}/*-*")]):
        with fetching_now(left) as free:
            if free and left.is_dir():
                if fix:
                    shutil.rmtree(left)
                what = f"{left} was left by a reader that ended early"
                yield Problem("half-fetched folder", what, "nothing reads it", fix)


def _copies(store: ResultStore, deep: bool, fix: bool) -> Iterator[Problem]:
    """Yield the problems of this machine's local copies of results in an object store."""
    here = ResultStore(store.root)
    copies = [here.results(*of, parts=parts) for *of, _ in here.partitions() for parts in (False, True)]
    for copy in chain.from_iterable(copies):
        reasons = own_damage(copy, ignore_cache=deep)
        if reasons:
            if fix:
                discard(copy)
            what = f"{copy.folder}: {'; '.join(reasons)}"
            yield Problem("damaged copy", what, "it is fetched again at the next read", fix)


def _half_written(home: Path, fix: bool) -> Iterator[Problem]:
    for draft in sorted((home / WORK).glob("*/draft")):
        if fix:
            shutil.rmtree(draft)
        yield Problem(
            "half-written folder",
            f"{draft} was left by a writer that ended early",
            "nothing reads it; the next run of its stage resumes from its checkpoint",
            fix,
        )
    for aside in sorted([*home.glob(".*.json.*"), *home.glob(".seen/.*.json.*")]):
        if fix:
            aside.unlink(missing_ok=True)
        yield Problem("half-written file", f"{aside} was left by a writer that ended early", "nothing reads it", fix)


def _damaged(store: ResultStore, asset: str, partition: str, deep: bool) -> Iterator[Damage]:
    """Yield damaged results with their parts, and then damaged parts that no result names.

    A folder without a manifest counts as damaged.
    """
    examine, reported, home = store.backend.examiner(deep=deep), set(), store.root / asset / partition
    for place, prefix in ((home, f"{asset}/{partition}/"), (home / "parts", f"{asset}/{partition}/parts/")):
        for key in store.backend.folders(prefix):
            there = store.backend.published(asset, partition, place / key) if is_digest(key) else None
            damage = None if there is None or there.folder in reported else examine(there)
            if damage is not None:
                reported |= {part.result.folder for part in damage.parts}
                yield damage


def _current(store: ResultStore, asset: str, partition: str) -> Iterator[Problem]:
    try:
        if store.current_key(asset, partition) is not None:
            store.current(asset, partition)
    except StoreError as error:
        yield Problem("lost result", str(error), f"materialise {asset} of {partition} again")


def _records(store: ResultStore) -> Iterator[Problem]:
    remedy = "until then `aflite prune` removes nothing"
    for partition in recorded_partitions(store):
        try:
            read_refreshes(store, partition)
        except StoreError as error:
            yield Problem("record of a refresh", str(error), remedy)
    try:
        read_pins(store)
    except StoreError as error:
        yield Problem("pin", str(error), remedy)


def _locks(store: ResultStore, fix: bool) -> Iterator[Problem]:
    for note in sorted(store.locks_folder.glob("[a-z0-9]*.json")):
        lock = note.with_suffix(".lock")
        holder = read_holder(lock)
        if not is_free(lock):
            continue
        if fix:
            note.unlink(missing_ok=True)
        yield Problem(
            "stale lock",
            f"the run of {lock.stem} ended without releasing its lock ({holder or 'its holder cannot be read'})",
            "the lock itself is free, so no other run waits",
            fix,
        )


def _trash(store: ResultStore, fix: bool) -> Iterator[Problem]:
    trash = store.root / TRASH
    if not trash.is_dir() or not is_free(store.locks_folder / ".prune.lock"):
        return
    if fix:
        shutil.rmtree(trash)
    yield Problem("trash", f"a prune was killed before it had emptied {trash}", "run `aflite prune`", fix)
