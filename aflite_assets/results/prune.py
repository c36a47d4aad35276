"""Removal of results, parts and leftovers that are no longer needed.

A folder is moved into the store's trash and deleted there. Results are removed before the parts that they name. If a
prune is killed, no result lacks its parts, but the store is larger than necessary.
"""

import shutil
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aflite_assets.results.damage import forget, manifest_damage
from aflite_assets.results.files import flush_entry, folder_size
from aflite_assets.results.locks import locked, unread, writing
from aflite_assets.results.pins import read_pins
from aflite_assets.results.records import DAMAGED, WORK, PublishedResult
from aflite_assets.results.refresh_records import FOLDER as REFRESHES
from aflite_assets.results.refresh_records import newest_distinct, read_refreshes
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

Results = Mapping[str, Mapping[str, PublishedResult]]
"""Results by asset and key."""
Reasons = dict[str, dict[str, str]]
"""Reasons why results are needed, by asset and key."""


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

    def by_kind(self) -> Mapping[str, tuple[int, int]]:
        """Return the number and the bytes of the removed folders and files, by kind."""
        return _counted((removal.kind, removal.size) for removal in self.removed)


def _counted(sizes: Iterable[tuple[str, int]]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for name, size in sizes:
        count, total = counts.get(name, (0, 0))
        counts[name] = (count + 1, total + size)
    return counts


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
        "while no run is under way, and docs/object_store.md shows how to free space in the bucket",
    )
    store.check_format()
    if not store.root.is_dir():
        return Pruned()
    pins = {(pin.asset, pin.partition, pin.key) for pin in read_pins(store)}
    pruning = _Pruning(store, older_than, dry_run, frozenset(deleted), pins)
    homes: dict[str, dict[str, Path]] = defaultdict(dict)
    for asset, partition, home in store.partitions():
        homes[partition][asset] = home
    used, old_records = {}, []
    for partition in store.backend.folders(f"{REFRESHES}/"):
        refreshes = read_refreshes(store, partition)
        stay = newest_distinct(refreshes, 0 if partition in deleted else keep)
        used[partition] = [pair for refresh in stay for pair in refresh.keys.items()]
        old_records += [each.path for each in refreshes if each not in stay and pruning.is_old(each.ended)]
    trash = store.root / TRASH
    with locked(store.locks_folder / ".prune.lock") if not dry_run else nullcontext():
        left = sorted(trash.iterdir()) if trash.is_dir() else []
        for partition, places in homes.items():
            pruning.prune_dataset(partition, places, used.get(partition, []))
        for path in old_records:
            pruning.remove("records of refreshes", path)
        for place in caches:
            if pruning.is_old(_last_change(place), LEFTOVERS):
                pruning.remove("caches", place, aside=False)
        pruning.done.removed += [Removal("trash of an earlier prune", path, folder_size(path)) for path in left]
        if not dry_run:
            shutil.rmtree(trash, ignore_errors=True)
    kept = _counted(pruning.kept)
    pruning.done.kept = {reason: kept[reason] for reason in REASONS if reason in kept}
    return pruning.done


@dataclass
class _Pruning:
    """Rules that decide which results are kept, and the removal of all other results.

    `pins`: asset, partition and key of each pinned result. `kept`: reason and size of each result that was kept.
    """

    store: ResultStore
    older_than: timedelta | None
    dry_run: bool
    deleted: frozenset[str]
    pins: set[tuple[str, str, str]]
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    done: Pruned = field(default_factory=Pruned)
    kept: list[tuple[str, int]] = field(default_factory=list)

    def is_old(self, moment: datetime, least: timedelta = timedelta(0)) -> bool:
        return self.now - moment >= (least if self.older_than is None else self.older_than)

    def is_young(self, result: PublishedResult) -> bool:
        return not self.is_old(datetime.fromisoformat(result.manifest["published"]))

    def remove(self, kind: str, path: Path, results: Iterable[PublishedResult] = (), *, aside: bool = True) -> None:
        """Move a folder with results into the trash in one step or, unless `aside` is set, delete it directly.

        Only a folder that may exist in part, such as a cache, is deleted directly.
        """
        self.done.removed.append(Removal(kind, path, folder_size(path)))
        if self.dry_run:
            return
        if aside and path.is_dir():
            trash = self.store.root / TRASH
            trash.mkdir(exist_ok=True)
            path.rename(trash / f"{path.name}-{uuid.uuid4().hex[:8]}")
            flush_entry(path.parent)
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        for result in results:
            forget(result)

    def prune_dataset(self, partition: str, homes: Mapping[str, Path], refreshed: list[tuple[str, str]]) -> None:
        """Prune one dataset. `homes`: its folders by asset. `refreshed`: asset and key of the results that the kept
        refreshes used.
        """
        with ExitStack() as stack:
            # Nobody can publish, or make something else current, below a folder that is locked here.
            free = {asset for asset, home in homes.items() if stack.enter_context(writing(home, wait=0))}
            results = {asset: self._readable(asset, partition, "") for asset in homes}
            needed = self._needed(partition, results, refreshed)
            for asset, home in sorted(homes.items()):
                if asset not in free:
                    self.done.in_use.append(f"{asset} of {partition}: it is being written")
                    self.kept += [(WRITTEN, folder_size(result.path)) for result in results[asset].values()]
                elif not (partition in self.deleted and self._removed_whole(home, results[asset], needed[asset])):
                    self._sweep("results", results[asset], needed[asset])
                    self._prune_parts(asset, partition)
                    self._prune_leftovers(home)

    def _prune_leftovers(self, home: Path) -> None:
        for kind, folder in (("unfinished work", WORK), ("damaged results", DAMAGED)):
            for place in sorted(home.glob(f"{folder}/*")):
                if self.is_old(_last_change(place), LEFTOVERS):
                    self.remove(kind, place)

    def _removed_whole(self, home: Path, results: Mapping[str, PublishedResult], needed: Mapping[str, str]) -> bool:
        """Remove an asset's folder of a deleted dataset, unless a result is needed, young or being read. Return whether
        the folder was removed.
        """
        with ExitStack() as stack:
            if needed or any(
                self.is_young(one) or not stack.enter_context(unread(one.path)) for one in results.values()
            ):
                return False
            self.remove("folders of deleted datasets", home, results.values())
        return True

    def _readable(self, asset: str, partition: str, place: str) -> dict[str, PublishedResult]:
        """Return results or parts by key. Results with a damaged manifest are left out; `aflite doctor` repairs
        them.
        """
        found = self.store.published(asset, partition, (place,))
        return {result.key: result for result in found if manifest_damage(result) is None}

    def _needed(self, partition: str, results: Results, refreshed: list[tuple[str, str]]) -> Reasons:
        """Return the reason why each key is needed, by asset.

        The keys of current results, of results that refreshes used and of results that are being read are needed. The
        keys of all inputs of these results are needed too. The keys of pinned results are needed, but not the keys of
        their inputs.
        """
        needed: Reasons = {asset: {} for asset in results}
        versions: dict[tuple[str, str], list[PublishedResult]] = defaultdict(list)
        for asset, each in results.items():
            for result in each.values():
                versions[asset, result.data_version].append(result)

        def missing(result: PublishedResult) -> list[tuple[str, str]]:
            """Return asset and data version of the inputs of which no result is needed yet."""
            inputs = result.manifest["made_from"]["inputs"].items()
            return [pair for pair in inputs if not any(one.key in needed[pair[0]] for one in versions.get(pair, []))]

        waiting = []
        # Refreshes and current results come first: an input among them needs no second result with the same content.
        for asset, key, reason in self._roots(partition, results, refreshed):
            if key in results.get(asset, {}):
                waiting.append(results[asset][key])
                needed[asset].setdefault(key, reason)
        while waiting:
            for pair in filter(versions.__contains__, missing(waiting.pop())):
                # Of several results with this content, keep the one that needs the fewest further inputs.
                chosen = min(versions[pair], key=lambda result: len(missing(result)))
                needed[pair[0]][chosen.key] = MADE_FROM
                waiting.append(chosen)
        for asset, pinned, key in self.pins:
            if pinned == partition and asset in needed:
                needed[asset].setdefault(key, PINNED)
        return needed

    def _roots(
        self, partition: str, results: Results, refreshed: list[tuple[str, str]]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield asset, key and reason of each result that is current, was used by a kept refresh, or is being read."""
        for asset in results if partition not in self.deleted else ():
            current = self.store.current_key(asset, partition)
            if current is not None:
                yield asset, current, CURRENT
        yield from ((asset, key, REFRESHED) for asset, key in refreshed)
        for asset, each in results.items():
            for result in each.values():
                with unread(result.path) as free:
                    if not free:
                        yield asset, result.key, READ

    def _sweep(self, kind: str, results: Mapping[str, PublishedResult], needed: Mapping[str, str]) -> None:
        """Remove results that are not needed, not young and not being read. `needed`: reasons by key."""
        for key, result in results.items():
            reason = needed.get(key, YOUNG if self.is_young(result) else None)
            with unread(result.path) as free:
                if reason is None and not free:
                    self.done.in_use.append(f"{result.asset} of {result.partition}: {result.path} is being read")
                    reason = READ
                if reason is None:
                    self.remove(kind, result.path, [result])
                else:
                    self.kept.append((reason, folder_size(result.path)))

    def _prune_parts(self, asset: str, partition: str) -> None:
        lost = self._lost(asset, partition)
        if lost is not None:  # it will be computed again from its parts
            self.done.damaged.append(f"parts of {asset} of {partition}: {lost}; materialise it again, then prune")
            return
        gone = {folder.path for folder in self.done.removed}
        named = dict[str, str]()
        for result in self._readable(asset, partition, "").values():
            if result.path not in gone:
                manifest = result.manifest
                named |= {part["key"]: PARTS for part in manifest["parts"].values()}
                # A learning curve's samples are parts that only the result's provenance names, not its data version.
                named |= dict.fromkeys(manifest.get("provenance", {}).get("learning_curve", {}).values(), PARTS)
        self._sweep("parts", self._readable(asset, partition, "parts"), named)

    def _lost(self, asset: str, partition: str) -> str | None:
        """Describe a result whose parts are unknown, or return None if the parts of all results are known.

        The parts of a damaged result are unknown, and so are the parts of a current result that was set aside.
        """
        for result in self.store.results(asset, partition):
            if manifest_damage(result) is not None:
                return f"{result.path} is damaged"
        key = self.store.current_key(asset, partition)
        if key is None or self.store.has(asset, partition, key):
            return None
        return f"{self.store.root / asset / partition / key}, which is current, is missing"


def _last_change(place: Path) -> datetime:
    times = [path.lstat().st_mtime for path in (place, *place.rglob("*"))]
    return datetime.fromtimestamp(max(times), UTC)
