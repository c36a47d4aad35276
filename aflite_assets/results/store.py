"""The result store: one folder per asset, partition and key, published completely or not at all.

```
<root>/<asset>/<partition>/<key>/            published files and manifest.json
<root>/<asset>/<partition>/parts/<key>/      published parts, which a result names in its manifest
<root>/<asset>/<partition>/current.json      the key of the result that downstream stages read
<root>/<asset>/<partition>/.work/<key>/      files of an unfinished writer: draft/ is never read, scratch/ is for
                                             writers that resume, ready/ is complete but not published yet
<root>/<asset>/<partition>/.damaged/         results and parts whose content differs from what was published
<root>/<asset>/<partition>/.seen/            size and times of each checked file, so that it is not hashed again
<root>/refreshes, pins, .locks, .trash       records of whole runs, results kept by prune, locks of datasets, trash
<root>/format.json                           the version of this layout
```
"""

import errno
import json
import logging
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from aflite_assets.errors import StoreError, UnsupportedStoreError
from aflite_assets.results import locks
from aflite_assets.results.damage import Damage, Look, own_damage
from aflite_assets.results.files import parse_json, whole_folder
from aflite_assets.results.folder_backend import FolderBackend
from aflite_assets.results.keys import ResultKey, current_digest, is_digest
from aflite_assets.results.manifests import write_manifest
from aflite_assets.results.object_store.results import ObjectBackend
from aflite_assets.results.records import MANIFEST, WORK, Log, PublishedResult

FORMAT = 2
"""Version of folders, manifests and keys. A store of another version is refused."""
CURRENT, FORMAT_FILE = "current.json", "format.json"
RESERVED = ("refreshes", "pins")
NAME = re.compile(r"[a-z0-9][a-z0-9_]*")
_FORMAT_BODY = (json.dumps({"format": FORMAT}) + "\n").encode()
_MOST_SHOWN = 100
"""Largest number of characters of a damaged file's content in a message."""
_log = logging.getLogger(__name__)
_format_seen: dict["ResultStore", float] = {}
"""Time, by this process's clock, at which a store's format was last found correct."""


Backend = FolderBackend | ObjectBackend
Summary = Mapping[str, Any]
Write = Callable[["Draft"], Summary]


@dataclass(frozen=True)
class StoredResult:
    """A result. `cached`: whether the result was found in the store instead of being computed."""

    result: PublishedResult
    cached: bool


@dataclass
class Draft:
    """A folder that a writer fills. Files in `path` are published; `scratch` survives if the writer is killed."""

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
        """The final folder of a published result that is not a part."""
        return self.store.root / self.asset / self.partition / self.key.digest

    def part(self, name: str, key: ResultKey, write: Write) -> StoredResult:
        """Add a part with its own key. A published part is reused; otherwise, the part is computed and published."""
        obtained = self.store.get_or_create_part(self.asset, self.partition, key, write, log=self.log)
        self.parts[name] = obtained.result
        return obtained

    def add_published_part(self, name: str, key: ResultKey) -> PublishedResult | None:
        """Add a part that was published before, and return it. Return None if the part was not published before."""
        part = self.store.find_part_or_set_aside(self.asset, self.partition, key, log=self.log)
        if part is not None:
            self.parts[name] = part
        return part

    def order_parts(self, names: Iterable[str]) -> None:
        """Sort the parts, which threads added in any order, into the order of `names`. Parts without a name in `names`
        come first.
        """
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        self.parts = dict(sorted(self.parts.items(), key=lambda item: places.get(item[0], -1)))


@dataclass(frozen=True)
class ResultStore:
    """Results that any number of processes share. The results are in the folder `root`, or at `remote` with local
    copies in `root`.

    With an object store, two machines may compute the same result at once. One of the two machines publishes the
    result, and the other machine uses the published result.
    """

    root: Path
    remote: ObjectBackend | None = None

    @property
    def backend(self) -> Backend:
        """Operations on the location that holds the results."""
        return FolderBackend(self.root) if self.remote is None else self.remote

    @property
    def place(self) -> str:
        """Location of the results, in words."""
        return self.backend.place

    @property
    def keeps_copies(self) -> bool:
        """True if local files are copies of files in an object store."""
        return self.remote is not None

    def needs_folder(self, command: str, *, instead: str) -> None:
        """Check that the results are in a folder, for a command that lists its files.

        `instead`: advice for other stores. Raises UnsupportedStoreError if the results are not in a folder.
        """
        if self.keeps_copies:
            raise UnsupportedStoreError(f"{command} does not work on the object store {self.place}; {instead}")

    def has(self, asset: str, partition: str, key: str) -> bool:
        """Return True if there is a result with this key's digest, even if the result is damaged."""
        return self.backend.exists(f"{asset}/{partition}/{key}/{MANIFEST}")

    def size(self, partition: str) -> int:
        """Return the size in bytes of everything in the store that belongs to a dataset."""
        return sum(self.backend.size(f"{name}/{partition}/") for name in self.backend.folders(""))

    def find(self, asset: str, partition: str, key: ResultKey) -> PublishedResult | None:
        """Return the published result of a key, or None. A damaged result counts as missing; see `damage`."""
        self.check_format()
        result = self._result(asset, partition, key.digest)
        return result if self._is_sound(result, Look.FOUND) else None

    def damage(self, asset: str, partition: str, key: ResultKey) -> Damage | None:
        """Return the damage of the published result of a key, or None if it is undamaged or missing."""
        result = self._result(asset, partition, key.digest)
        return self.backend.damage(result, Look.FOUND) if result.exists else None

    def current(self, asset: str, partition: str) -> PublishedResult:
        """Return the result of an asset's partition that downstream stages read.

        Raises:
            StoreError: no result was published yet, or the current result no longer exists.
        """
        key = self.current_key(asset, partition)
        if key is None:
            raise StoreError(
                f"{asset} of {partition!r} was never materialised below {self.place}; materialise it first"
            )
        result = self._result(asset, partition, key)
        if not self._is_sound(result, Look.LISTED):
            raise StoreError(
                f"{asset} of {partition!r} no longer has a current result: {self.place}/{self._name(result.folder)}; "
                "materialise it again"
            )
        return result

    def current_key(self, asset: str, partition: str) -> str | None:
        """Return the key of the result that downstream stages read, or None. The result itself may be missing.

        Raises:
            StoreError: the file with the key cannot be read.
        """
        name = self._name(self._home(asset, partition) / CURRENT)
        try:
            mark = self.backend.read(name)
            return None if mark is None else current_digest(parse_json(mark))
        except (OSError, ValueError) as error:
            raise StoreError(
                f"{self.place}/{name} cannot be read ({error}); materialise {asset} of {partition!r} again"
            ) from None

    def get_or_create(
        self, asset: str, partition: str, key: ResultKey, write: Write, *, log: Log = _log.debug
    ) -> StoredResult:
        """Return the stored result of a key, or compute the result with `write` and publish it.

        The result becomes the current result. A second process for the same asset and partition waits for the first. A
        damaged result is set aside and computed again, with a message to `log`.

        Raises:
            StoreError: the folder cannot be written.
        """
        wanted = self._result(asset, partition, key.digest)
        home = wanted.folder.parent
        with self._locked(home):
            asked = self.backend.now()
            is_there = self._is_reusable(wanted, f"{asset} of {partition!r} will be computed again", log)
            result = wanted if is_there else self._publish(wanted, key, write, log)
            self._make_current(result, asked, log)
            shutil.rmtree(home / WORK, ignore_errors=True)  # unfinished work of writers of other keys
        return StoredResult(result, cached=is_there)

    def get_or_create_part(
        self, asset: str, partition: str, key: ResultKey, write: Write, *, log: Log = _log.debug
    ) -> StoredResult:
        """Return a stored part of a key, or compute and publish the part, as `get_or_create` does for a result. Call
        this method only while a result of the part's asset is being written.
        """
        there = self.find_part_or_set_aside(asset, partition, key, log=log)
        part = there or self._publish(self._result(asset, partition, key.digest, "parts"), key, write, log)
        return StoredResult(part, cached=there is not None)

    def find_part_or_set_aside(
        self, asset: str, partition: str, key: ResultKey, *, log: Log = _log.debug
    ) -> PublishedResult | None:
        """Return the undamaged published part of a key, or None. A damaged part is set aside.

        Only a writer that holds the asset's lock may call this method.
        """
        part = self._result(asset, partition, key.digest, "parts")
        then = f"this part of {asset} of {partition!r} will be computed again"
        return part if self._is_reusable(part, then, log) else None

    def check_inputs(self, inputs: Iterable[PublishedResult], *, reader: str, log: Log = _log.debug) -> None:
        """Check inputs before they are used: compare the files of the results, and of their parts, with the hashes.

        Raises:
            StoreError: a result is damaged. The result was set aside, so that its stage computes it again in the next
                run.
        """
        for result in inputs:
            if self.backend.damage(result, Look.READ) is None:
                continue
            with self._locked(self._home(result.asset, result.partition)):
                damage = self.backend.damage(result, Look.READ)  # another process may have repaired it meanwhile
                away = damage is not None and self._set_aside(damage, f"{reader} cannot be computed from it", log)
            if damage is not None:
                raise StoreError(
                    f"{reader} was not computed: its input {result.asset} of {result.partition!r} is damaged "
                    f"({damage.files}) and was {'set aside' if away else 'published again meanwhile'}; materialise "
                    f"{result.asset} again, or the whole dataset"
                )

    def set_aside(self, damage: Damage, *, log: Log = _log.debug) -> bool:
        """Remove a damaged result or part from its place. The lock of the asset is held during the removal.

        The next run computes it again. Return whether the result was removed; a result that was published again before
        the removal is kept.
        """
        with self._locked(self._home(damage.result.asset, damage.result.partition)):
            return self._set_aside(damage, "it is computed again when its stage runs", log)

    def dataset_lock(self, partition: str, *, what: str, wait: float = -1) -> AbstractContextManager[None]:
        """Hold the lock that allows only one run of a dataset on this machine. The lock is released when its process
        ends.

        `what`: the name of the holder in messages, for example "aflite refresh". `wait`: seconds to wait for another
        run; a negative number means no limit, and 0 means not to wait. If the calling thread holds the lock already, it
        does not wait.

        Raises:
            DatasetBusyError: another run did not end in time; the message names its process, host and time.
            StoreError: the folder cannot be written.
        """
        self._home("dataset", partition)
        self.check_format()
        return locks.running(self.locks_folder, partition, what=what, wait=wait)

    @property
    def locks_folder(self) -> Path:
        """Folder with the locks of datasets."""
        return self.root / ".locks"

    def check_format(self) -> None:
        """Raise StoreError if the store's format cannot be read or differs from this version's format.

        The message names both versions, or the content of `format.json`.
        """
        if time.monotonic() - _format_seen.get(self, -math.inf) < self.backend.format_seconds:
            return
        place = f"{self.place}/{FORMAT_FILE}"
        expected = f'write {{"format": {FORMAT}}} into it if this version of aflite-assets made the store'
        try:
            body = self.backend.read(FORMAT_FILE)
            content = {"format": FORMAT} if body is None else parse_json(body)
        except (OSError, ValueError) as error:
            raise StoreError(f"{place} cannot be read ({error}); {expected}") from None
        written = content.get("format") if isinstance(content, dict) else None
        if type(written) is not int or written < 1:
            text = json.dumps(content)
            held = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ..."
            raise StoreError(f"{place} holds {held}, which is not a format of a store; {expected}")
        if written != FORMAT:
            by = "a later version wrote: update this one, or" if written > FORMAT else "a version before 0.2.0 wrote:"
            where = f"the results in {self.place} are of store format {written}"
            raise StoreError(f"{where}, which {by} set AFLITE_HOME to another folder")
        if body is not None:
            _format_seen[self] = time.monotonic()

    def partitions(self) -> Iterator[tuple[str, str, Path]]:
        """Return every partition of every asset with results, as (asset, partition, folder), ordered by name."""
        for asset in self.backend.folders(""):
            if NAME.fullmatch(asset) and asset not in RESERVED:
                names = self.backend.folders(f"{asset}/")
                yield from ((asset, name, self.root / asset / name) for name in names if NAME.fullmatch(name))

    def datasets(self) -> set[str]:
        """Return the names of the datasets that have results, or at least folders for results."""
        return {partition for _, partition, _ in self.partitions()}

    def results(self, asset: str, partition: str, *, parts: bool = False) -> Iterator[PublishedResult]:
        """Yield every result, or every part, of an asset's partition. Results without a manifest are left out."""
        found = self.published(asset, partition, ("parts",) if parts else ("",))
        return (result for result in found if self._is_sound(result, Look.LISTED))

    def published(self, asset: str, partition: str, places: Iterable[str] = ("", "parts")) -> Iterator[PublishedResult]:
        """Yield every result of an asset's partition, and then every part, even if they are damaged."""
        for place in places:
            names = self.backend.folders(f"{self._name(self._home(asset, partition) / place)}/")
            results = (self._result(asset, partition, key, place) for key in names if is_digest(key))
            yield from (result for result in results if result.exists)

    def _result(self, asset: str, partition: str, key: str, place: str = "") -> PublishedResult:
        """Return the result of a key, or the part if `place` is "parts". It may be missing or damaged."""
        return self.backend.result(asset, partition, self._home(asset, partition) / place / key)

    def _is_sound(self, result: PublishedResult, look: Look) -> bool:
        return result.exists and self.backend.damage(result, look) is None

    def _is_reusable(self, result: PublishedResult, then: str, log: Log) -> bool:
        """Return True if a result exists without damage. A damaged result is set aside."""
        damage = self.backend.damage(result, Look.REUSED) if result.exists else None
        if damage is not None:
            self._set_aside(damage, then, log)
        return result.exists and damage is None

    def _home(self, asset: str, partition: str) -> Path:
        for name in (asset, partition):
            if not NAME.fullmatch(name):
                raise StoreError(
                    f"{name!r} cannot be the name of a result; use lower-case letters, digits and underscores"
                )
        if asset in RESERVED:
            raise StoreError(
                f"{asset!r} cannot be the name of an asset, because the store uses this name for its records"
            )
        return self.root / asset / partition

    def _name(self, path: Path) -> str:
        """Return the backend's name of a path below `root`."""
        return path.relative_to(self.root).as_posix()

    @contextmanager
    def _locked(self, home: Path) -> Iterator[None]:
        self.check_format()
        with locks.writing(home), _explained(home):
            self.backend.prepare(FORMAT_FILE, _FORMAT_BODY)
            yield

    def _make_current(self, result: PublishedResult, asked: datetime | None, log: Log) -> None:
        """Make a result the current result, unless the current one was requested later (by the store's clock)."""
        asset, partition = result.asset, result.partition
        name = self._name(self._home(asset, partition) / CURRENT)
        stays = self.backend.make_current(name, result.version, asked)
        # Two machines that made the same result at once agree about what is current.
        if stays not in (None, result.key):
            log(f"another machine requested {asset} of {partition!r} later: its {stays} remains current")

    def _set_aside(self, damage: Damage, then: str, log: Log) -> bool:
        for part in damage.parts:
            self._set_aside(part, then, log)
        how = self.backend.set_aside(damage.result)
        place = f"{self.place}/{self._name(damage.result.folder)}"
        if how is None:
            _log.info("%s was repaired or published again meanwhile, so it is kept", place)
            return False
        line = f"{place} is damaged ({damage.files}): {how}; {then}"
        _log.warning("%s", line)
        log(line)
        return True

    def _publish(self, wanted: PublishedResult, key: ResultKey, write: Write, log: Log) -> PublishedResult:
        asset, partition = wanted.asset, wanted.partition
        work = self._home(asset, partition) / WORK / wanted.key
        # If publishing fails, the folder remains, so that the work is not repeated.
        ready = work / "ready" / wanted.key
        if self._can_be_published(PublishedResult(asset, partition, wanted.key, ready)):
            log(f"{asset} of {partition!r} was computed before but not published: {ready} is published now")
        else:
            shutil.rmtree(ready.parent, ignore_errors=True)
            draft = Draft(self, asset, partition, key, work / "draft", work / "scratch", log)
            with whole_folder(draft.path, draft.scratch, ready=ready):
                summary = write(draft)
                parts = {name: part.version for name, part in draft.parts.items()}
                facts = draft.provenance
                write_manifest(draft.path, asset, partition, key, parts=parts, summary=summary, provenance=facts)
        # Another record, because this one may hold the manifest of a result that was set aside.
        result = self.backend.publish(ready, self.backend.result(asset, partition, wanted.folder), log)
        shutil.rmtree(work, ignore_errors=True)
        return result

    def _can_be_published(self, made: PublishedResult) -> bool:
        """Return True if a folder holds a complete result that was not published and whose parts are unchanged."""
        if not made.exists or own_damage(made, ignore_cache=True):
            return False
        for part in made.manifest["parts"].values():
            there = self._result(made.asset, made.partition, part["key"], "parts")
            if not self._is_sound(there, Look.FOUND) or there.data_version != part["data_version"]:
                return False
        return True


@contextmanager
def _explained(home: Path) -> Iterator[None]:
    """Raise an error with advice if the disk is full, or if another file or folder has a path that the store needs.

    Errors with another cause pass unchanged.
    """
    try:
        yield
    except OSError as error:
        name, named = f"{home.parent.name} of {home.name!r}", str(error.filename2 or error.filename)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(
                f"{name} was not published: no space is left for {home} ({error.strerror}); free some space, or set "
                "AFLITE_HOME to a folder on a larger disk, and try again"
            ) from error
        if error.errno in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR) and named.startswith(f"{home}{os.sep}"):
            raise StoreError(
                f"{name} cannot be stored, because another file or folder has the path {named} ({error.strerror}); "
                "move it away and try again"
            ) from error
        raise
