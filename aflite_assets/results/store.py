"""The result store: one folder per asset, partition and key, published whole or not at all.

<root>/<asset>/<partition>/<key>/            published files and manifest.json
<root>/<asset>/<partition>/parts/<key>/      published parts, which a result names in its manifest
<root>/<asset>/<partition>/current.json      the key that downstream reads
<root>/<asset>/<partition>/.work/<key>/      what an unfinished writer left: draft/ is never read, scratch/ is
                                             for writers that resume
<root>/<asset>/<partition>/.damaged/         results and parts that no longer held what was published
<root>/<asset>/<partition>/.seen/            when each file was last seen whole, so that it is not hashed again
<root>/refreshes, pins, .locks, .trash       records of whole runs, what prune spares, locks of datasets, its trash
<root>/format.json                           the version of all this
"""

import errno
import json
import logging
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from aflite_assets.errors import StoreError
from aflite_assets.results import locks
from aflite_assets.results.damage import Damage, find_damage, forget, record_verified
from aflite_assets.results.files import (
    flush_entry,
    flush_folder,
    folder_hashes,
    folder_size,
    folder_sizes,
    parse_json,
    read_json,
    read_small,
    write_json,
)
from aflite_assets.results.keys import ResultKey, current_digest, is_digest
from aflite_assets.results.manifests import content_version, environment, sealed, without_nan
from aflite_assets.results.records import MANIFEST, PublishedResult

FORMAT = 2
"""Version of folders, manifests and keys; a store of another one is refused."""
DAMAGED, WORK = ".damaged", ".work"
CURRENT, FORMAT_FILE = "current.json", "format.json"
RESERVED = ("refreshes", "pins")
NAME = re.compile(r"[a-z0-9][a-z0-9_]*")
_MOST_SHOWN = 100
"""Characters of a damaged file's content in a message."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_OBSTACLES = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR)
_log = logging.getLogger(__name__)
# Parts of one result are made by threads.
_setting_aside = threading.Lock()

Summary = Mapping[str, Any]
Write = Callable[["Draft"], Summary]
Log = Callable[[str], None]


def _no_log(_: str) -> None:
    return None


@dataclass(frozen=True)
class StoredResult:
    """A result, and whether it was found (`cached`) or made; `damage`: that of the one that it replaced, if any."""

    result: PublishedResult
    cached: bool
    damage: Damage | None = None


@dataclass
class Draft:
    """Draft that a writer fills: files in `path` are published; `scratch` outlives a killed writer of the same key."""

    store: "ResultStore"
    asset: str
    partition: str
    key: ResultKey
    path: Path
    scratch: Path
    log: Log
    provenance: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, PublishedResult] = field(default_factory=dict)

    @property
    def target(self) -> Path:
        """Where a result, other than a part, will stand once it is published."""
        return self.store.root / self.asset / self.partition / self.key.digest

    def part(self, name: str, key: ResultKey, write: Write) -> StoredResult:
        """Add a part with a key of its own: found if it was published before, made and published now if not."""
        obtained = self.store.get_or_create_part(self.asset, self.partition, key, write, log=self.log)
        self.parts[name] = obtained.result
        return obtained

    def add_published_part(self, name: str, key: ResultKey) -> PublishedResult | None:
        """Add a part that was published before, and return it; None if there is none."""
        part = self.store.find_part_or_set_aside(self.asset, self.partition, key, log=self.log)
        if part is not None:
            self.parts[name] = part
        return part

    def order_parts(self, names: Iterable[str]) -> None:
        """Put the parts into this order, in whichever they were made by several threads; others stay before them."""
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        self.parts = dict(sorted(self.parts.items(), key=lambda item: places.get(item[0], -1)))


@dataclass(frozen=True)
class ResultStore:
    """Results below one folder, shared by any number of processes on one machine."""

    root: Path
    keeps_copies: ClassVar[bool] = False
    """Whether files are this machine's copies of what lies elsewhere."""

    @property
    def place(self) -> str:
        """Where the results lie, in words."""
        return str(self.root)

    def needs_folder(self, command: str, *, instead: str) -> None:
        """Let commands through that walk the folder; a store without one refuses them, and says what to do `instead`.

        Raises:
            UnsupportedStoreError: the results lie in no folder.
        """

    def has(self, asset: str, partition: str, key: str) -> bool:
        """Whether a result of this key's digest is there, damaged or not."""
        return (self.root / asset / partition / key / MANIFEST).is_file()

    def size(self, partition: str) -> int:
        """Bytes of everything that is kept of a dataset."""
        return sum(folder_size(folder) for folder in self.root.glob(f"*/{partition}") if folder.is_dir())

    def bring_current(self, asset: str) -> None:
        """Have the current results of an asset below `root`, where files are served from; in a folder they are."""

    def write_record(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Write a record of JSON values whole or not at all, to a path below `root`.

        Raises:
            OSError: the folder cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, fields)

    def find(self, asset: str, partition: str, key: ResultKey) -> PublishedResult | None:
        """Return the published result of a key, or None; a damaged one counts as absent, see `damage`."""
        return self._whole(asset, partition, key, self._home(asset, partition) / key.digest)

    def damage(self, asset: str, partition: str, key: ResultKey) -> Damage | None:
        """Return what is wrong with the published result of a key; None if it is whole or not there."""
        return find_damage(PublishedResult(asset, partition, key.digest, self._home(asset, partition) / key.digest))

    def current(self, asset: str, partition: str) -> PublishedResult:
        """Return the version of an asset's partition that downstream reads.

        Raises:
            StoreError: nothing was published yet, or the folder named is gone.
        """
        home = self._home(asset, partition)
        key = self.current_key(asset, partition)
        if key is None:
            raise StoreError(
                f"{asset} of {partition!r} was never materialised below {self.place}; materialise it first"
            )
        if not (home / key / MANIFEST).is_file():
            raise StoreError(f"{asset} of {partition!r} has no current result any more: {home / key}; make it again")
        return PublishedResult(asset, partition, key, home / key)

    def current_key(self, asset: str, partition: str) -> str | None:
        """Return the key of the version that downstream reads, None without one; its folder may be gone.

        Raises:
            StoreError: the mark cannot be read.
        """
        mark = self._home(asset, partition) / CURRENT
        try:
            return current_digest(read_json(mark))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StoreError(f"{mark} cannot be read ({error}); materialise {asset} of {partition!r} again") from None

    def get_or_create(
        self, asset: str, partition: str, key: ResultKey, write: Write, *, log: Log = _no_log
    ) -> StoredResult:
        """Return the result of a key: found, or made by `write` and published; current from then on.

        A second process for the same asset and partition waits for the first. A damaged result
        is set aside and made again, with a line to `log`.

        Raises:
            StoreError: the folder cannot be written.
        """
        home = self._home(asset, partition)
        with _explain_full_disk(f"{asset} of {partition!r}", home), self._locked(home):
            asked = self._moment(asset, partition)
            existing, damage = self._found(asset, partition, key, log)
            result = existing or self._publish(asset, partition, key, home / key.digest, write, log)
            self._make_current(result, asked=asked, log=log)
            shutil.rmtree(home / WORK, ignore_errors=True)  # what writers of other keys left unfinished
        return StoredResult(result, cached=existing is not None, damage=damage)

    def get_or_create_part(
        self, asset: str, partition: str, key: ResultKey, write: Write, *, log: Log = _no_log
    ) -> StoredResult:
        """`get_or_create` for a part, called while its asset's result is being written, so already under the lock."""
        part = self.find_part_or_set_aside(asset, partition, key, log=log)
        folder = self._part_folder(asset, partition, key)
        return StoredResult(part or self._publish(asset, partition, key, folder, write, log), cached=part is not None)

    def find_part(self, asset: str, partition: str, key: ResultKey) -> PublishedResult | None:
        """Return the published part of a key, or None; a damaged one counts as absent."""
        return self._whole(asset, partition, key, self._part_folder(asset, partition, key))

    def find_part_or_set_aside(
        self, asset: str, partition: str, key: ResultKey, *, log: Log = _no_log
    ) -> PublishedResult | None:
        """Return the published part of a key with its published content, or None; a damaged one is set aside.

        Only for a writer of the asset, which holds its lock.
        """
        part = PublishedResult(asset, partition, key.digest, self._part_folder(asset, partition, key))
        damage = find_damage(part)
        if damage is not None:
            self._set_aside(damage, f"this part of {asset} of {partition!r} will be computed again", log)
        return part if damage is None and part.path.is_dir() else None

    def check_inputs(self, inputs: Iterable[PublishedResult], *, reader: str, log: Log = _no_log) -> None:
        """Compare the files of results, and of their parts, with their hashes before something is made from them.

        Raises:
            StoreError: one is damaged; it was set aside, so that its stage makes it again when it is run next.
        """
        for result in inputs:
            if find_damage(result) is None:
                continue
            name = f"{result.asset} of {result.partition!r}"
            with self._locked(self._home(result.asset, result.partition)):
                damage = find_damage(result)  # another process may have mended it while we waited
                if damage is not None:
                    self._set_aside(damage, f"{reader} cannot be computed from it", log)
            if damage is not None:
                raise StoreError(
                    f"{reader} was not computed: {name}, which it reads, is damaged ({damage.files}) and was "
                    f"set aside; materialise {result.asset} again, or the whole dataset"
                )

    def set_aside(self, damage: Damage, *, log: Log = _no_log) -> None:
        """Move a damaged result or part out of the way, under its asset's lock; its stage makes it again when run."""
        with self._locked(self._home(damage.result.asset, damage.result.partition)):
            self._set_aside(damage, "it is computed again when its stage runs", log)

    @contextmanager
    def dataset_lock(self, partition: str, *, what: str, wait: float = -1) -> Iterator[None]:
        """Be the only run of a dataset, also across processes; the lock dies with its process.

        `what`: how the holder is named to others, for one "aflite refresh". `wait`: seconds to wait for another run;
        negative: without limit, 0: not at all. A thread that holds the lock already does not wait.

        Raises:
            DatasetBusyError: another run did not end in time; the message names process, host and time.
            StoreError: the folder cannot be written.
        """
        self._home("dataset", partition)
        self.check_format()
        with locks.running(self.locks_folder, partition, what=what, wait=wait):
            yield

    @property
    def locks_folder(self) -> Path:
        """Where the locks of datasets lie."""
        return self.root / ".locks"

    def check_format(self) -> None:
        """Refuse a store of another format than this version's, or whose format cannot be read.

        Raises:
            StoreError: with both versions, or with what `format.json` holds.
        """
        expected = f'write {{"format": {FORMAT}}} into it if this version of aflite-assets made the store'
        try:
            body = self._format_body()
            if body is None:
                return
            content = parse_json(body)
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.place}/{FORMAT_FILE} cannot be read ({error}); {expected}") from None
        written = content.get("format") if isinstance(content, dict) else None
        if type(written) is not int or written < 1:
            text = json.dumps(content)
            held = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ..."
            raise StoreError(f"{self.place}/{FORMAT_FILE} holds {held}, which is not a format of a store; {expected}")
        if written != FORMAT:
            by = "a later version wrote: update this one, or" if written > FORMAT else "a version before 0.2.0 wrote:"
            found = f"the results in {self.place} are of store format {written}, which {by}"
            raise StoreError(f"{found} set AFLITE_HOME to another folder")

    def partitions(self) -> Iterator[tuple[str, str, Path]]:
        """Every asset's partition that has a folder: asset, partition and folder, in the order of names."""
        for asset in sorted(_folders(self.root)):
            homes = sorted(_folders(asset)) if NAME.fullmatch(asset.name) and asset.name not in RESERVED else []
            yield from ((asset.name, home.name, home) for home in homes if NAME.fullmatch(home.name))

    def datasets(self) -> set[str]:
        """Return the names of the datasets that have results, or folders for them."""
        return {partition for _, partition, _ in self.partitions()}

    def results(self, asset: str, partition: str, *, parts: bool = False) -> Iterator[PublishedResult]:
        """Every result below an asset's partition, or every part, damaged ones too; only folders with a manifest."""
        home = self._home(asset, partition)
        for folder in sorted(_folders(home / "parts" if parts else home)):
            if is_digest(folder.name) and (folder / MANIFEST).is_file():
                yield PublishedResult(asset, partition, folder.name, folder)

    def _part_folder(self, asset: str, partition: str, key: ResultKey) -> Path:
        return self._home(asset, partition) / "parts" / key.digest

    def _whole(self, asset: str, partition: str, key: ResultKey, folder: Path) -> PublishedResult | None:
        self.check_format()
        result = PublishedResult(asset, partition, key.digest, folder)
        return result if folder.is_dir() and find_damage(result) is None else None

    def _home(self, asset: str, partition: str) -> Path:
        for name in (asset, partition):
            if not NAME.fullmatch(name):
                raise StoreError(f"{name!r} cannot name a result; use lower-case letters, digits and underscores")
        if asset in RESERVED:
            raise StoreError(f"{asset!r} cannot name an asset: the store keeps its own records there")
        return self.root / asset / partition

    @contextmanager
    def _locked(self, home: Path) -> Iterator[None]:
        self.check_format()
        with locks.writing(home), _explain_obstacle(home):
            self._prepare()
            yield

    def _format_body(self) -> bytes | None:
        """Return the content of `format.json`, or None if there is no such file.

        Raises:
            OSError: it cannot be read.
            ValueError: it cannot be a record of a store.
        """
        try:
            return read_small(self.root / FORMAT_FILE)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _prepare(self) -> None:
        """Make the store ready to be written, under the lock of one asset's partition."""
        if not (self.root / FORMAT_FILE).exists():
            write_json(self.root / FORMAT_FILE, {"format": FORMAT})

    def _moment(self, asset: str, partition: str) -> datetime:
        """When a result was asked for, by the store's clock."""
        return datetime.now(UTC)

    def _found(
        self, asset: str, partition: str, key: ResultKey, log: Log
    ) -> tuple[PublishedResult | None, Damage | None]:
        """Return the published result of a key, and the damage for which one was set aside."""
        there = PublishedResult(asset, partition, key.digest, self._home(asset, partition) / key.digest)
        damage = find_damage(there)
        if damage is not None:
            self._set_aside(damage, f"{asset} of {partition!r} will be computed again", log)
        return (there if there.path.is_dir() else None), damage

    def _make_current(self, result: PublishedResult, *, asked: datetime, log: Log) -> None:
        mark = self._home(result.asset, result.partition) / CURRENT
        write_json(mark, {"key": result.key, "data_version": result.data_version})

    def _set_aside(self, damage: Damage, then: str, log: Log) -> None:
        result = damage.result
        home = self._home(result.asset, result.partition)
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        target = home / DAMAGED / f"{result.key}-{moment}"
        for part in damage.parts:
            self._set_aside(part, then, log)
        with _setting_aside:
            if find_damage(result) is None:
                return  # another thread has set it aside meanwhile
            target.parent.mkdir(exist_ok=True)
            # Its files may be hard links to scratch files.
            shutil.rmtree(home / WORK / result.key, ignore_errors=True)
            result.path.rename(target)
            os.utime(target)  # prune keeps it for a while from now on
            forget(result)
        line = f"{result.path} is damaged ({damage.files}): set aside as {target}; {then}"
        _log.warning("%s", line)
        log(line)

    def _publish(
        self, asset: str, partition: str, key: ResultKey, target: Path, write: Write, log: Log
    ) -> PublishedResult:
        work = self._home(asset, partition) / ".work" / key.digest
        draft = Draft(self, asset, partition, key, work / "draft", work / "scratch", log)
        shutil.rmtree(draft.path, ignore_errors=True)
        draft.path.mkdir(parents=True)
        draft.scratch.mkdir(exist_ok=True)
        try:
            summary = write(draft)
            write_json(draft.path / MANIFEST, _manifest(draft, summary))
            flush_folder(draft.path)
            result = self._place(draft, target)
        except BaseException:  # interruptions too: no half-written draft stays
            _discard(draft)
            raise
        shutil.rmtree(work, ignore_errors=True)
        return result

    def _place(self, draft: Draft, target: Path) -> PublishedResult:
        """Publish a draft that is whole."""
        target.parent.mkdir(exist_ok=True)
        result = PublishedResult(draft.asset, draft.partition, draft.key.digest, target)
        try:
            draft.path.rename(target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY) or find_damage(result) is not None:
                raise
            # On a shared disk a folder that another machine has just published may be seen only now.
            shutil.rmtree(draft.path)
            draft.log(f"another machine published {target} first: its result is used")
        flush_entry(target.parent)
        shutil.rmtree(draft.scratch, ignore_errors=True)  # removing a file's other links changes its times
        record_verified(result)
        return result


@contextmanager
def _explain_full_disk(result: str, home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise StoreError(
            f"{result} was not published: no space is left for {home} ({error.strerror}); free some space, or set "
            "AFLITE_HOME to a folder on a larger disk, and try again"
        ) from error


@contextmanager
def _explain_obstacle(home: Path) -> Iterator[None]:
    """Name what lies where the store needs a folder or file of its own; other errors pass."""
    try:
        yield
    except OSError as error:
        named = error.filename2 or error.filename
        if error.errno not in _OBSTACLES or not str(named).startswith(f"{home}{os.sep}"):
            raise
        raise StoreError(
            f"{home.parent.name} of {home.name!r} cannot be stored: {named} is in the way ({error.strerror}); move it "
            "away and try again"
        ) from error


def _discard(draft: Draft) -> None:
    shutil.rmtree(draft.path, ignore_errors=True)
    for folder in (draft.scratch, draft.scratch.parent):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _manifest(draft: Draft, summary: Summary) -> dict[str, Any]:
    files = folder_hashes(draft.path)
    parts = {name: {"key": part.key, "data_version": part.data_version} for name, part in draft.parts.items()}
    return sealed(
        {
            "asset": draft.asset,
            "partition": draft.partition,
            "key": draft.key.digest,
            "made_from": draft.key.as_json(),
            "data_version": content_version(files, parts),
            "files": files,
            "sizes": folder_sizes(draft.path),
            "parts": parts,
            "summary": without_nan(summary),
            "provenance": draft.provenance,
            "environment": environment(),
            "published": datetime.now(UTC).isoformat(timespec="seconds"),
            "process": os.getpid(),
        }
    )


def _folders(place: Path) -> list[Path]:
    return [path for path in place.iterdir() if path.is_dir()] if place.is_dir() else []
