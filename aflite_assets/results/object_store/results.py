"""Results in a bucket, with a local copy of results that were computed or read on this machine.

The bucket alone determines which results are published and current. One conditional write publishes a result. Readers
get paths of the local copy, into which files are fetched when they are needed, completely or not at all.

```
<prefix>/<asset>/<partition>/<key>/manifest.json        written last and never over another, which publishes the result
<prefix>/<asset>/<partition>/<key>/<attempt>/<file>     the files of one upload attempt, which the manifest names
<prefix>/<asset>/<partition>/parts/<key>/...            the same for parts

<root>/<asset>/<partition>/<key>/                       local copies; the same for parts
<root>/<asset>/<partition>/.work/<key>/                 files of an unfinished writer; `ready/` waits to be uploaded
<root>/<asset>/<partition>/.fetching/                   results that are being fetched
<root>/.locks                                           locks of datasets, which work only on this machine
```

Every upload attempt has a prefix of its own. Therefore, two machines that publish at the same time cannot change each
other's files.
"""

import logging
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from aflite_assets.errors import LostObjectsError, StoreError, StoreUnreachableError, UnsupportedStoreError
from aflite_assets.results.damage import (
    Damage,
    Look,
    damage_with_parts,
    forget,
    manifest_damage,
    own_damage,
    record_verified,
    size_problem,
)
from aflite_assets.results.files import flush_entry, flush_folder, json_bytes, parse_json, read_json
from aflite_assets.results.keys import current_digest
from aflite_assets.results.locks import locked, unread
from aflite_assets.results.manifests import manifest_problem, sealed
from aflite_assets.results.object_store.address import StoreAddress
from aflite_assets.results.object_store.bucket import Bucket
from aflite_assets.results.records import MANIFEST, Log, PublishedResult

ATTEMPT = "attempt"
"""Field that only manifests in a bucket have: the prefix of the result's files."""
FETCHING = ".fetching"
_ATTEMPT = re.compile(r"[0-9a-f]{12}")
_AT_ONCE = 4
"""Number of files that are transferred at the same time."""
_TRIES = 20
"""Number of attempts to make a result current while other machines make their results current."""
_UNUSABLE = f"{MANIFEST} cannot be used"
_log = logging.getLogger(__name__)
_writable: set[StoreAddress] = set()
"""Addresses to which this process has written, so that each server is tested only once."""


@dataclass(frozen=True)
class ObjectResult(PublishedResult):
    """Result in a bucket. Reading `path` fetches its files, and reading `manifest` fetches its manifest.

    `known`: the manifest's bytes, or None before the first read.
    """

    bucket: "ObjectBackend" = field(compare=False, repr=False)
    known: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Name of the result's folder in the bucket."""
        return self.folder.relative_to(self.bucket.root).as_posix()

    @property
    def copy(self) -> PublishedResult:
        """The folder of the local copy. The local folder may be missing or hold another result."""
        return PublishedResult(self.asset, self.partition, self.key, self.folder)

    @cached_property
    def path(self) -> Path:
        """The folder with the files, which are fetched if necessary; see `fetch`."""
        self.fetch()
        return self.folder

    @cached_property
    def stored(self) -> bytes | None:
        """The bytes of the manifest, even of an invalid manifest, or None if there is no manifest."""
        return self.bucket.read(f"{self.name}/{MANIFEST}") if self.known is None else self.known

    @property
    def exists(self) -> bool:
        """True if the bucket holds a manifest of the result, even an invalid manifest."""
        return self.stored is not None

    @cached_property
    def usable(self) -> dict[str, Any] | None:
        """The manifest, or None if the bucket holds no valid manifest of this result; see `manifest_problem`.

        The field `attempt` of the manifest is the folder with the result's files in the bucket.
        """
        try:
            manifest: dict[str, Any] = parse_json(self.stored or b"")
            problem = manifest_problem(manifest, self.asset, self.partition, self.key)
            return manifest if problem is None and _ATTEMPT.fullmatch(manifest[ATTEMPT]) else None
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    @property
    def manifest(self) -> dict[str, Any]:
        """Manifest of the result.

        Raises:
            LostObjectsError: the manifest no longer exists, or cannot be used.
        """
        if self.usable is None:
            raise LostObjectsError(
                f"{self.bucket.address} no longer has {self.asset} of {self.partition!r}, {self.name}; materialise it "
                "again"
            )
        return self.usable

    @property
    def parts(self) -> Mapping[str, "ObjectResult"]:
        """Parts of the result. The manifest and the files of a part are fetched when they are read."""
        return {
            name: self.bucket.result(self.asset, self.partition, part.folder) for name, part in super().parts.items()
        }

    def lost_files(self) -> tuple[str, ...]:
        """Return a phrase for each file that the manifest names and that the bucket does not hold in this size."""
        prefix = f"{self.name}/{self.manifest[ATTEMPT]}/"
        there = {each.name.removeprefix(prefix): each.size for each in self.bucket.objects(prefix)}
        problems = (size_problem(name, there.get(name), size) for name, size in self.manifest["sizes"].items())
        return tuple(problem for problem in problems if problem is not None)

    def changed_files(self) -> tuple[str, ...]:
        """Return a phrase for each file whose content differs from the manifest. All files are read completely."""
        changed = []
        for name, digest in self.manifest["files"].items():
            with suppress(LostObjectsError):
                if self.bucket.download(f"{self.name}/{self.manifest[ATTEMPT]}/{name}") == digest:
                    continue
            changed.append(f"the content of {name} has changed")
        return tuple(changed)

    def upload(self, folder: Path) -> "ObjectResult | None":
        """Publish a complete folder, with its manifest, as this result, and return the published result.

        If another result was published here first, remove the uploaded files and return None.

        Raises:
            StoreError: the files could not be uploaded, or the bucket cannot be written. Nothing was published.
        """
        if self.bucket.exists(f"{self.name}/{MANIFEST}"):
            return None
        place = f"{self.name}/{(attempt := uuid.uuid4().hex[:12])}"
        body = json_bytes(sealed({**read_json(folder / MANIFEST), ATTEMPT: attempt}))
        uploaded = replace(self, known=body)
        files = uploaded.manifest["files"]
        _all_at_once(lambda name: self.bucket.upload(folder / name, f"{place}/{name}"), files)
        wrong = uploaded.lost_files()
        if wrong:
            raise StoreError(
                f"{self.bucket.address}/{self.name} was not published: some files were not uploaded completely "
                f"({'; '.join(wrong)}); try again"
            )
        if self.bucket.put_if(f"{self.name}/{MANIFEST}", body, None):
            return uploaded
        try:
            self.bucket.delete(f"{place}/{name}" for name in files)
        except StoreError as error:
            _log.warning("files of a result that another machine published remain below %s (%s)", place, error)
        return None

    def fetch(self) -> None:
        """Fetch the files into this machine's copy, unless the copy has the stored manifest and undamaged files.

        Only one process of this machine fetches a result at a time. Files are first written to another folder and
        compared with their hashes.

        Raises:
            LostObjectsError: the bucket no longer holds a file that the manifest names.
            StoreError: the local folder cannot be written, or a process is reading another data version in this folder.
        """
        _ = self.manifest  # an unusable result is no reason to lock the folder
        with fetching(self.folder):
            if self._is_copied():
                return
            aside = _unused_path(self.folder)
            try:
                aside.mkdir()
                self._download(aside)
                self._put_in_place(aside)
            except OSError as error:
                raise StoreError(
                    f"{self.bucket.address}/{self.name} cannot be fetched into {self.folder} ({error.strerror}); free "
                    "some space or make the folder writable, or set AFLITE_HOME to another folder"
                ) from error
            finally:
                shutil.rmtree(aside, ignore_errors=True)

    def keep(self, folder: Path) -> None:
        """Use the folder from which this result was published as this machine's copy, or remove the folder.

        A failure is only logged as a warning, because the result is already published.
        """
        try:
            with fetching(self.folder):
                if not self._is_copied():  # another process may have fetched it meanwhile
                    self._put_in_place(folder)
        except (OSError, StoreError) as error:
            _log.warning(
                "%s was published, but no local copy was kept, so it is fetched at the next read (%s)",
                self.folder,
                error,
            )
        shutil.rmtree(folder, ignore_errors=True)

    def _is_copied(self) -> bool:
        try:
            same = (self.folder / MANIFEST).read_bytes() == self.stored
        except OSError:
            return False
        reasons = own_damage(self.copy)
        if reasons:
            _log.warning("%s is damaged (%s): it is fetched again", self.folder, "; ".join(reasons))
        return same and not reasons

    def _download(self, folder: Path) -> None:
        place = f"{self.name}/{self.manifest[ATTEMPT]}"

        def one(name: str) -> None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if self.bucket.download(f"{place}/{name}", folder / name) != self.manifest["files"][name]:
                raise LostObjectsError(
                    f"{self.bucket.address}/{place}/{name} has changed since publication; run `aflite doctor --deep "
                    "--fix`, then materialise it again"
                )

        _all_at_once(one, self.manifest["files"])

    def _put_in_place(self, whole: Path) -> None:
        """Move a folder with all files to the place of the local copy, in one step. Call this only within `fetching`.

        Raises:
            StoreError: a process is reading another data version at this place, and would read files of both versions.
        """
        (whole / MANIFEST).write_bytes(self.stored or b"")
        flush_folder(whole)
        with unread(self.folder) if self.folder.is_dir() else nullcontext(True) as free:
            copy = self.copy
            if not (free or (manifest_damage(copy) is None and copy.data_version == self.data_version)):
                raise StoreError(
                    f"{self.folder} has an earlier version of {self.asset} of {self.partition!r}, which a process on "
                    "this machine is reading; try again when that process has ended"
                )
            _discard(self.copy)
            whole.rename(self.folder)
        flush_entry(self.folder.parent)
        record_verified(self.copy)


@dataclass(frozen=True)
class ObjectBackend(Bucket):
    """Backend in a bucket, for any number of machines; see `FolderBackend`.

    `root`: this machine's folder of copies and drafts.
    """

    root: Path
    format_seconds: ClassVar[float] = 60.0

    @property
    def place(self) -> str:
        """The address of the bucket as text."""
        return str(self.address)

    def make_current(self, name: str, mark: Mapping[str, str], asked: datetime | None) -> str | None:
        """Write the key and data version of a current result, unless the present result was requested later.

        Return the key of the result that remains current, or None. The object is only replaced if it has not changed
        since it was read; this is repeated while other machines write.

        Raises:
            StoreUnreachableError: other machines do not stop writing.
        """
        asked = asked or self.now()
        body = json_bytes({**mark, "asked": asked.isoformat()})
        for attempt in range(_TRIES):
            time.sleep(0.01 * attempt)
            there = self.get(name)
            if there is not None and _asked(there.body) > asked:
                return current_digest(parse_json(there.body))
            if self.put_if(name, body, None if there is None else there.etag):
                return None
        raise StoreUnreachableError(
            f"{self.place}/{name} is being written by other machines at the same time; the result itself was "
            f"published, so try again"
        )

    def prepare(self, name: str, body: bytes) -> None:
        """Make sure that the object `name` exists, which always has the content `body`. Once per process, check that
        the server respects conditions of writes.

        Raises:
            UnsupportedStoreError: the server overwrites the object although the condition is not met.
        """
        if self.address in _writable:
            return
        self.put_once(name, body, None)
        for header, etag in (("If-None-Match", None), ("If-Match", '"00000000000000000000000000000000"')):
            if self.put_once(name, body, etag):
                raise UnsupportedStoreError(
                    f"{self.place}: the server {self.server} ignores the condition {header} of a write, so two "
                    "machines would overwrite each other's results; use a server that respects conditions, as S3 "
                    "does, or a folder"
                )
        _writable.add(self.address)

    def result(self, asset: str, partition: str, folder: Path) -> ObjectResult:
        """Return the result in a folder. The manifest and the files of the result may be missing or damaged."""
        return ObjectResult(asset, partition, folder.name, folder, self)

    def damage(self, result: PublishedResult, look: Look) -> Damage | None:
        """Return the damage of a result's manifest.

        If `look` is `REUSED`, also compare the sizes of the result's files in the bucket with the manifest. If `look`
        is `READ`, fetch the result with its parts, and return the damage that was found.

        Raises:
            LostObjectsError: `look` is `REUSED`, but an object that only `aflite doctor` may remove prevents a new
                result from being published.
        """
        own = _own(result)
        if look is Look.READ:
            return damage_with_parts(own, _fetched)
        if own.usable is None:
            if look is Look.REUSED:
                raise self._in_the_way(own)
            _log.warning("%s/%s/%s", self.place, own.name, _UNUSABLE)
            return Damage(own, (_UNUSABLE,))
        reasons = own.lost_files() if look is Look.REUSED else ()
        return Damage(own, reasons) if reasons else None

    def own_damage(self, result: PublishedResult, *, deep: bool) -> tuple[str, ...]:
        """Return the damage of a result's manifest and of the sizes of its files in the bucket, without its parts.

        `deep`: also compare the content of the files.
        """
        own = _own(result)
        if own.usable is None:
            return (_UNUSABLE,)
        return own.lost_files() or (own.changed_files() if deep else ())

    def set_aside(self, result: PublishedResult) -> str | None:
        """Remove a result's manifest from the bucket, if the manifest is unchanged since it was read, and remove the
        local copy.

        The command `aflite doctor` removes the result's files. If a server ignores conditional deletes, a result that
        another machine publishes at the same moment is removed as well.
        """
        own = _own(result)
        name = f"{own.name}/{MANIFEST}"
        there = self.get(name)
        if there is not None and not (there.body == own.stored and self.delete_same(name, there.etag)):
            return None
        discard(own.copy)
        return "withdrawn"

    def publish(self, ready: Path, wanted: PublishedResult, log: Log) -> PublishedResult:
        """Upload a complete folder. The manifest is uploaded last, and the folder then becomes this machine's copy."""
        result = _own(wanted)
        uploaded = result.upload(ready)
        if uploaded is not None:
            uploaded.keep(ready)
            return uploaded
        if not result.exists:
            raise StoreError(f"{self.place}/{result.name} was published and withdrawn by another machine; try again")
        if result.usable is None:
            raise self._in_the_way(result)
        log(f"another machine published {self.place}/{result.name} first: its result is used")
        return result

    def _in_the_way(self, result: ObjectResult) -> LostObjectsError:
        return LostObjectsError(
            f"{self.place}/{result.name}/{_UNUSABLE}; run `aflite doctor --fix`, which removes it, then try again"
        )


def _asked(mark: bytes) -> datetime:
    """Return when the result in `current.json` was requested, or the earliest possible time if unknown."""
    earliest = datetime.min.replace(tzinfo=UTC)
    try:
        fields = parse_json(mark)
        current_digest(fields)
        asked = datetime.fromisoformat(fields["asked"])
    except (ValueError, KeyError, TypeError):  # written by hand
        return earliest
    return earliest if asked.tzinfo is None else asked


def _own(result: PublishedResult) -> ObjectResult:
    if not isinstance(result, ObjectResult):
        raise TypeError(f"{result} belongs to another store")
    return result


def _fetched(result: PublishedResult) -> tuple[str, ...]:
    """Fetch a result's files, and return the damage that was found."""
    try:
        _own(result).fetch()
    except LostObjectsError as error:
        return (str(error),)
    return ()


def discard(copy: PublishedResult) -> None:
    """Remove this machine's copy of a result. A reader with an open file can continue to read the file."""
    with fetching(copy.folder):
        _discard(copy)


def _discard(copy: PublishedResult) -> None:
    if copy.folder.is_dir():
        away = _unused_path(copy.folder)
        copy.folder.rename(away)
        forget(copy)
        shutil.rmtree(away)


def _unused_path(folder: Path) -> Path:
    """Return a new path beside a folder, at which only the holder of the lock `fetching` may write."""
    return folder.parent / FETCHING / f"{folder.name}-{uuid.uuid4().hex[:8]}"


def fetching(folder: Path, *, wait: float = -1) -> AbstractContextManager[bool]:
    """Hold the lock for fetching a result into a folder; see `locked`."""
    return locked(folder.parent / FETCHING / f"{folder.name}.lock", wait=wait)


def _all_at_once(work: Callable[[str], None], names: Iterable[str]) -> None:
    """Call a function with every name. Several calls run at the same time. After the first failure, no further call
    begins.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(work, names))
