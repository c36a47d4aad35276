"""Removal of results, parts and leftovers that are no longer needed.

A folder is moved into the store's trash and deleted there. Results are removed before the parts that they name. If a
prune is killed, no result lacks its parts, but the store is larger than necessary.
"""

import os
import shutil
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock

from aflite_assets.results.damage import forget, manifest_damage
from aflite_assets.results.files import flush_entry
from aflite_assets.results.locks import unread, writing
from aflite_assets.results.pins import read_pins
from aflite_assets.results.records import DAMAGED, WORK, PublishedResult
from aflite_assets.results.refresh_records import newest_distinct, read_refreshes, recorded_partitions
from aflite_assets.results.store import ResultStore

KEEP = 3
"""Number of refreshes of a dataset that are kept by default."""
LEFTOVERS = timedelta(days=7)
"""Time for which unfinished work is kept because its writer may resume, and for which a damaged folder is kept for
examination.
"""
TRASH = ".trash"
CURRENT, REFRESHED, MADE_FROM = "current", "used by refreshes that are kept", "needed by these"
PINNED, READ, WRITTEN = "pinned", "being read", "being written"
YOUNG, PARTS = "newer than the given age", "parts of these"
REASONS = (CURRENT, REFRESHED, MADE_FROM, PINNED, READ, WRITTEN, YOUNG, PARTS)
"""Reasons why results are kept, in words, the most important reason first."""


@dataclass(frozen=True)
class Removal:
    """A folder or file that is removed: its kind in words, its path and its size in bytes."""

    kind: str
    path: Path
    size: int


@dataclass
class Pruned:
    """Results of a prune: those that were (or would be) removed, those that a process uses, and those that were kept.

    `in_use`: one line per result. `damaged`: one line per result that was not removed because a damaged result may need
    it. `kept`: the number of results and their bytes by reason, the most important reason first. Parts are counted
    separately from results.
    """

    removed: list[Removal] = field(default_factory=list)
    in_use: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    kept: dict[str, tuple[int, int]] = field(default_factory=dict, compare=False)

    def keep(self, reason: str, size: int) -> None:
        """Add one result to the counts of kept results."""
        count, total = self.kept.get(reason, (0, 0))
        self.kept[reason] = (count + 1, total + size)

    def by_kind(self) -> Mapping[str, tuple[int, int]]:
        """Return the number and the bytes of the removed folders and files, by kind."""
        kinds: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for folder in self.removed:
            kinds[folder.kind][0] += 1
            kinds[folder.kind][1] += folder.size
        return {kind: (count, size) for kind, (count, size) in kinds.items()}


def prune(
    store: ResultStore,
    *,
    keep: int = KEEP,
    older_than: timedelta | None = None,
    dry_run: bool = False,
    caches: Iterable[Path] = (),
    deleted: Collection[str] = (),
) -> Pruned:
    """Remove the results that are no longer needed.

    Current results and pinned results are needed. The results of the `keep` newest refreshes are needed; refreshes that
    used the same results count once. All results that a process reads are needed, and so are all results of an asset
    that a process writes. Results that were published less than `older_than` ago are needed. Inputs of needed results
    are needed too. Inputs of pinned results are an exception: a pin protects only the pinned folder and its parts.

    `caches`: folders outside the store whose content can be computed again. A cache is removed if it was last used more
    than `older_than` ago. `deleted`: datasets with a deleted dataset file. A result of a deleted dataset is kept only
    if it is pinned, in use or younger than `older_than`.

    Raises:
        StoreError: a refresh or a pin cannot be read, or the store has another format. Nothing was removed.
        UnsupportedStoreError: the results are in an object store.
        ValueError: `keep` is negative.
    """
    if keep < 0:
        raise ValueError(f"`keep` is {keep}; give the number of refreshes to keep, 0 or more")
    store.needs_folder(
        "aflite prune",
        instead=f"no published result is deleted from there automatically; copies in {store.root} may be deleted "
        "while no "
        "run is under way, and docs/object_store.md shows how to free space in the bucket",
    )
    store.check_format()
    if not store.root.is_dir():
        return Pruned()
    rules = _Rules(store, keep, older_than, dry_run, datetime.now(UTC), frozenset(deleted))
    homes: dict[str, dict[str, Path]] = defaultdict(dict)
    for asset, partition, home in store.partitions():
        homes[partition][asset] = home
    kept_records = {partition: rules.records(partition) for partition in recorded_partitions(store)}
    rules.read_pins()
    pruned = Pruned()
    with _exclusive(store) if not dry_run else nullcontext():
        for partition, places in homes.items():
            _Dataset(rules, partition, places, kept_records.get(partition, ([], []))[0]).prune(pruned)
        for _, paths in kept_records.values():
            for path in paths:
                rules.remove("records of refreshes", path, pruned)
        for place in caches:
            if rules.is_old(_last_change(place), LEFTOVERS):
                rules.remove("caches", place, pruned, aside=False)
        pruned.removed += [Removal("trash of an earlier prune", left, _size(left)) for left in rules.trash_before]
        if not dry_run:
            shutil.rmtree(store.root / TRASH, ignore_errors=True)
    pruned.kept = {reason: pruned.kept[reason] for reason in REASONS if reason in pruned.kept}
    return pruned


@contextmanager
def _exclusive(store: ResultStore) -> Iterator[None]:
    """Allow only one prune at a time. All folders in the trash then belong to the running prune."""
    store.locks_folder.mkdir(exist_ok=True)
    with FileLock(store.locks_folder / ".prune.lock"):
        yield


@dataclass
class _Rules:
    """Rules that decide which results of each dataset are kept, and the removal of all other results."""

    store: ResultStore
    keep: int
    older_than: timedelta | None
    dry_run: bool
    now: datetime
    deleted: frozenset[str] = frozenset()
    pinned: set[tuple[str, str, str]] = field(default_factory=set)
    trash_before: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        trash = self.store.root / TRASH
        self.trash_before = sorted(trash.iterdir()) if trash.is_dir() else []

    def read_pins(self) -> None:
        self.pinned = {(pin.asset, pin.partition, pin.key) for pin in read_pins(self.store)}

    def records(self, partition: str) -> tuple[list[tuple[str, str]], list[Path]]:
        """Return the (asset, key) pairs that the kept refreshes used, and the files of the refreshes that are not
        kept.
        """
        refreshes = read_refreshes(self.store, partition)
        groups = newest_distinct(refreshes, 0 if partition in self.deleted else self.keep)
        kept = [(asset, key) for group in groups for asset, key in group[0].keys.items()]
        # Of refreshes that used the same results, only the newest is needed.
        stay = {group[0].path for group in groups}
        old = [refresh.path for refresh in refreshes if refresh.path not in stay and self.is_old(refresh.ended)]
        return kept, old

    def is_old(self, moment: datetime, least: timedelta = timedelta(0)) -> bool:
        age = self.now - moment
        return age >= (least if self.older_than is None else self.older_than)

    def remove(self, kind: str, path: Path, pruned: Pruned, *, aside: bool = True) -> None:
        """Move a folder into the trash in one step or, unless `aside` is set, delete it directly.

        Only a folder that may exist in part, such as a cache, is deleted directly.
        """
        removal = Removal(kind, path, _size(path))
        if not self.dry_run:
            if aside and path.is_dir():
                trash = self.store.root / TRASH
                trash.mkdir(exist_ok=True)
                path.rename(trash / f"{path.name}-{uuid.uuid4().hex[:8]}")
                flush_entry(path.parent)
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        pruned.removed.append(removal)


@dataclass
class _Dataset:
    """One dataset's folders by asset, and the results that its kept refreshes used."""

    rules: _Rules
    partition: str
    homes: Mapping[str, Path]
    refreshed: list[tuple[str, str]]

    def prune(self, pruned: Pruned) -> None:
        with ExitStack() as stack:
            # Nobody can publish, or make something else current, below a folder that is locked here.
            free = {asset for asset, home in self.homes.items() if stack.enter_context(writing(home, wait=0))}
            pruned.in_use += [
                f"{asset} of {self.partition}: it is being written" for asset in self.homes if asset not in free
            ]
            results = {asset: self._readable(asset, parts=False) for asset in self.homes}
            needed = self._needed(results)
            for asset in sorted(free):
                if self._removed_whole(asset, results[asset], needed[asset], pruned):
                    continue
                self._prune_results(asset, results[asset], needed[asset], pruned)
                self._prune_parts(asset, pruned)
                self._prune_leftovers(asset, pruned)
            for asset in sorted(set(self.homes) - free):
                for result in results[asset].values():
                    pruned.keep(WRITTEN, _size(result.path))

    def _removed_whole(
        self, asset: str, results: Mapping[str, PublishedResult], needed: Mapping[str, str], pruned: Pruned
    ) -> bool:
        """Remove an asset's folder of a deleted dataset, if no result in this folder is needed. Return whether the
        folder was removed.
        """
        rules = self.rules
        is_unneeded = not needed and all(rules.is_old(_published(result)) for result in results.values())
        if self.partition not in rules.deleted or not is_unneeded:
            return False
        with ExitStack() as stack:
            if not all(stack.enter_context(unread(result.path)) for result in results.values()):
                return False
            rules.remove("folders of deleted datasets", self.homes[asset], pruned)
        if not rules.dry_run:
            for result in results.values():
                forget(result)
        return True

    def _readable(self, asset: str, *, parts: bool) -> dict[str, PublishedResult]:
        """Return results or parts by key. Results with a damaged manifest are left out; `aflite doctor` repairs
        them.
        """
        found = self.rules.store.results(asset, self.partition, parts=parts)
        return {result.key: result for result in found if manifest_damage(result) is None}

    def _needed(self, results: Mapping[str, Mapping[str, PublishedResult]]) -> dict[str, dict[str, str]]:
        """Return the reason why each key is needed, by asset.

        The keys of current results, of results that refreshes used and of results that are being read are needed. The
        keys of all inputs of these results are needed too. The keys of pinned results are needed, but not the keys of
        their inputs.
        """
        needed: dict[str, dict[str, str]] = {asset: {} for asset in results}
        versions: dict[tuple[str, str], list[PublishedResult]] = defaultdict(list)
        for asset, each in results.items():
            for result in each.values():
                versions[asset, result.data_version].append(result)
        waiting = []
        # Refreshes and current results come first: an input among them needs no second result with the same content.
        for asset, key, reason in self._roots(results):
            if key in results.get(asset, {}):
                waiting.append(results[asset][key])
                needed[asset].setdefault(key, reason)
        while waiting:
            for asset, version in waiting.pop().manifest["made_from"]["inputs"].items():
                made = versions.get((asset, version), [])
                if made and not any(result.key in needed[asset] for result in made):
                    # Of several results with this content, keep the one that needs the fewest further inputs.
                    chosen = min(made, key=lambda result: len(_missing(result, needed, versions)))
                    needed[asset][chosen.key] = MADE_FROM
                    waiting.append(chosen)
        for asset, partition, key in self.rules.pinned:
            if partition == self.partition and asset in needed:
                needed[asset].setdefault(key, PINNED)
        return needed

    def _roots(self, results: Mapping[str, Mapping[str, PublishedResult]]) -> Iterator[tuple[str, str, str]]:
        """Yield asset, key and reason of each result that is current, was used by a kept refresh, or is being read."""
        for asset in results if self.partition not in self.rules.deleted else ():
            current = self.rules.store.current_key(asset, self.partition)
            if current is not None:
                yield asset, current, CURRENT
        for asset, key in self.refreshed:
            yield asset, key, REFRESHED
        for asset, each in results.items():
            for result in each.values():
                with unread(result.path) as free:
                    if not free:
                        yield asset, result.key, READ

    def _prune_results(
        self, asset: str, results: Mapping[str, PublishedResult], needed: Mapping[str, str], pruned: Pruned
    ) -> None:
        for key, result in results.items():
            if key in needed or not self.rules.is_old(_published(result)):
                pruned.keep(needed.get(key, YOUNG), _size(result.path))
                continue
            with unread(result.path) as free:
                if not free:
                    pruned.in_use.append(f"{asset} of {self.partition}: {result.path} is being read")
                    pruned.keep(READ, _size(result.path))
                    continue
                self.rules.remove("results", result.path, pruned)
            if not self.rules.dry_run:
                forget(result)

    def _lost(self, asset: str) -> str | None:
        """Describe a result whose parts are unknown, or return None if the parts of all results are known.

        The parts of a damaged result are unknown, and so are the parts of a current result that was set aside.
        """
        store = self.rules.store
        for result in store.results(asset, self.partition):
            if manifest_damage(result) is not None:
                return f"{result.path} is damaged"
        key = store.current_key(asset, self.partition)
        lost = key is not None and not store.has(asset, self.partition, key)
        return f"{self.homes[asset] / str(key)}, which is current, is missing" if lost else None

    def _prune_parts(self, asset: str, pruned: Pruned) -> None:
        lost = self._lost(asset)
        if lost is not None:  # it will be computed again from its parts
            pruned.damaged.append(f"parts of {asset} of {self.partition}: {lost}; materialise it again, then prune")
            return
        gone = {folder.path for folder in pruned.removed}
        stay = [result for result in self._readable(asset, parts=False).values() if result.path not in gone]
        named = {part["key"] for result in stay for part in result.manifest["parts"].values()}
        # A learning curve's samples are parts that only the result's provenance names, not its data version.
        named |= {
            key for result in stay for key in result.manifest.get("provenance", {}).get("learning_curve", {}).values()
        }
        for key, part in self._readable(asset, parts=True).items():
            if key in named or not self.rules.is_old(_published(part)):
                pruned.keep(PARTS, _size(part.path))
                continue
            self.rules.remove("parts", part.path, pruned)
            if not self.rules.dry_run:
                forget(part)

    def _prune_leftovers(self, asset: str, pruned: Pruned) -> None:
        home = self.homes[asset]
        for kind, folder in (("unfinished work", WORK), ("damaged results", DAMAGED)):
            for place in sorted((home / folder).iterdir()) if (home / folder).is_dir() else []:
                if self.rules.is_old(_last_change(place), LEFTOVERS):
                    self.rules.remove(kind, place, pruned)


def _missing(
    result: PublishedResult,
    needed: Mapping[str, Mapping[str, str]],
    versions: Mapping[tuple[str, str], list[PublishedResult]],
) -> list[str]:
    """Return the assets whose results a result was made from, if these results are not among the needed results."""
    inputs = result.manifest["made_from"]["inputs"].items()
    return [
        asset
        for asset, version in inputs
        if not any(result.key in needed[asset] for result in versions.get((asset, version), []))
    ]


def _published(result: PublishedResult) -> datetime:
    return datetime.fromisoformat(result.manifest["published"])


def _last_change(place: Path) -> datetime:
    times = [path.lstat().st_mtime for path in (place, *place.rglob("*"))]
    return datetime.fromtimestamp(max(times), UTC)


def _size(place: Path) -> int:
    if not place.is_dir():
        return place.stat().st_size
    return sum(os.lstat(path).st_size for path in place.rglob("*") if path.is_file())
