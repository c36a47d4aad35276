"""Problems of a result store, what to do about each, and the repair of those that can be repaired without loss."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aflite_assets.errors import StoreAccessError, StoreError, StoreUnreachableError, UnsupportedStoreError
from aflite_assets.results.damage import Damage, find_damage, own_damage
from aflite_assets.results.keys import is_digest
from aflite_assets.results.locks import is_free, read_holder, writing_now
from aflite_assets.results.mounts import lock_problem
from aflite_assets.results.object_store.inspection import examine_bucket, local_copies
from aflite_assets.results.object_store.store import ObjectResultStore
from aflite_assets.results.object_store.transfer import FETCHING, discard, fetching_now
from aflite_assets.results.pins import read_pins
from aflite_assets.results.prune import TRASH
from aflite_assets.results.records import PublishedResult
from aflite_assets.results.refresh_records import read_refreshes, recorded_partitions
from aflite_assets.results.store import WORK, ResultStore


@dataclass(frozen=True)
class Problem:
    """One problem: its kind, what was found, what to do, and whether it was repaired just now."""

    kind: str
    what: str
    remedy: str
    mended: bool = False


def examine_store(store: ResultStore, *, deep: bool = False, fix: bool = False) -> Iterator[Problem]:
    """All problems of a store, asset by asset; `deep` hashes all files, also those that look unchanged.

    With `fix`: damaged results and folders without a manifest are set aside, drafts of writers that died, notes of
    their locks and an unfinished prune's trash are removed. What a running writer works on is left alone.
    """
    try:
        store.check_format()
    except (StoreAccessError, StoreUnreachableError, UnsupportedStoreError) as error:
        yield Problem("object store", str(error), "until then no result can be read or published")
        return
    except StoreError as error:
        yield Problem("store format", str(error), "until then no command may use this store")
        return
    if isinstance(store, ObjectResultStore):
        yield from _bucket(store, deep, fix)
        yield from _copies(store, deep, fix)
        yield from _locks(store, fix)
        return
    unlocked = lock_problem(store.root)
    if unlocked is not None:
        remedy = "let only one machine write there, mount it with locks, or use an object store (docs/object_store.md)"
        yield Problem("locks", unlocked, remedy)
    for asset, partition, home in store.partitions():
        with writing_now(home) as free:
            if not free:
                continue
            yield from _half_written(home, fix)
        for damage in _damaged(store, asset, partition, deep):
            if fix:
                store.set_aside(damage)
            what = f"{damage.result.path}: {damage.files}"
            yield Problem("damaged result", what, f"materialise {asset} of {partition} again", fix)
        yield from _current(store, asset, partition)
    yield from _records(store)
    yield from _locks(store, fix)
    yield from _trash(store, fix)


def _bucket(store: ObjectResultStore, deep: bool, fix: bool) -> Iterator[Problem]:
    """Return what is wrong in an object store; in a sound one, what nothing reads is reported only when it is a day
    old.
    """
    for finding in examine_bucket(store, deep=deep):
        mended = fix and finding.mend is not None and finding.mend()
        # What is damaged there is found by every run until it is withdrawn.
        first = (
            f"run `aflite doctor{' --deep' if deep else ''} --fix`, then "
            if finding.kind == "damaged result" and not fix
            else ""
        )
        yield Problem(finding.kind, finding.what, f"{first}{finding.remedy}", mended)


def _copies(store: ObjectResultStore, deep: bool, fix: bool) -> Iterator[Problem]:
    """Yield what is wrong with this machine's copies of an object store, and what writers and readers here left."""
    for _, _, home in ResultStore(store.root).partitions():
        with writing_now(home) as free:
            if free:
                yield from _half_written(home, fix)
        for left in sorted([*home.glob(f"{FETCHING}/*-*"), *home.glob(f"parts/{FETCHING}/*-*")]):
            with fetching_now(left) as free:
                if free and left.is_dir():
                    if fix:
                        shutil.rmtree(left)
                    yield Problem(
                        "half-fetched folder", f"{left} was left by a reader that ended early", "nothing reads it", fix
                    )
    for copy in local_copies(store.root):
        reasons = own_damage(copy, ignore_cache=deep)
        if reasons:
            if fix:
                discard(copy)
            yield Problem(
                "damaged copy", f"{copy.folder}: {'; '.join(reasons)}", "it is fetched again at the next read", fix
            )


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
    """Results with their parts, then parts that no result names; a folder without a manifest is damaged too."""
    home, reported = store.root / asset / partition, set()
    for place in (home, home / "parts"):
        for folder in sorted(place.iterdir()) if place.is_dir() else []:
            if is_digest(folder.name) and folder not in reported:
                result = PublishedResult(asset, partition, folder.name, folder)
                damage = find_damage(result, ignore_cache=deep)
                if damage is not None:
                    reported |= {part.result.path for part in damage.parts}
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
