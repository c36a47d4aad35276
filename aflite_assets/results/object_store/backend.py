"""`ObjectBackend`: results in a bucket, with a local copy of results that were computed or read on this machine.

The bucket alone determines which results are published and current. Readers get paths of the local copy. The folder
`root` contains:

```
<root>/<asset>/<partition>/<key>/            fetched results, and results published by this machine; the same for parts
<root>/<asset>/<partition>/.work/<key>/      files of an unfinished writer; `ready/` is complete but not uploaded yet
<root>/<asset>/<partition>/.fetching/        results that are being fetched
<root>/.locks                                locks of datasets, which work only on this machine
```
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import ClassVar

from aflite_assets.errors import LostObjectsError, StoreError, StoreUnreachableError
from aflite_assets.results.backend import Log, Look
from aflite_assets.results.damage import Damage, damage_with_parts
from aflite_assets.results.object_store.address import StoreAddress
from aflite_assets.results.object_store.bucket import Bucket, bucket_of
from aflite_assets.results.object_store.results import ObjectResult
from aflite_assets.results.object_store.transfer import (
    changed_files,
    discard,
    keep_copy,
    lost_files,
    read_manifest,
    upload_result,
)
from aflite_assets.results.records import MANIFEST, PublishedResult

_TRIES = 20
"""Number of attempts to make a result current while other machines make their results current."""
_UNUSABLE = f"{MANIFEST} cannot be used"
_log = logging.getLogger(__name__)
_writable: set[StoreAddress] = set()
"""Addresses to which this process has written, so that each server is tested only once."""


@dataclass(frozen=True)
class ObjectBackend:
    """Backend in a bucket, for any number of machines; see `Backend`.

    `root`: this machine's folder of copies and drafts.
    """

    root: Path
    address: StoreAddress
    keeps_copies: ClassVar[bool] = True
    format_seconds: ClassVar[float] = 60.0

    @property
    def bucket(self) -> Bucket:
        """The bucket, with this process's connections."""
        return bucket_of(self.address)

    @property
    def place(self) -> str:
        """The address of the bucket as text."""
        return str(self.address)

    def now(self) -> datetime:
        """Return the server's time, to the second."""
        return self.bucket.now()

    def read(self, name: str) -> bytes | None:
        """Return a small object's content, or None if the content does not match the server's checksum."""
        record = self.bucket.get(name)
        return None if record is None else record.body

    def exists(self, name: str) -> bool:
        """Return True if there is an object of this name."""
        return self.bucket.exists(name)

    def size(self, prefix: str) -> int:
        """Return the size in bytes of all objects with names that begin with `prefix`."""
        return sum(each.size for each in self.bucket.objects(prefix))

    def folders(self, prefix: str) -> list[str]:
        """Return the parts of names between `prefix` and the next slash."""
        return sorted(self.bucket.folders(prefix))

    def put(self, name: str, body: bytes) -> None:
        """Write a small object and replace the previous one."""
        self.bucket.put(name, body)

    def replace(self, name: str, body: bytes, *, unless: Callable[[bytes], bool]) -> bytes | None:
        """Replace an object only if it has not changed since it was read, and repeat while other machines write.

        Raises:
            StoreUnreachableError: other machines do not stop writing.
        """
        for attempt in range(_TRIES):
            time.sleep(0.01 * attempt)
            there = self.bucket.get(name)
            if there is not None and unless(there.body):
                return there.body
            if self.bucket.put_new(name, body) if there is None else self.bucket.put_over(name, body, there.etag):
                return None
        raise StoreUnreachableError(
            f"{self.place}/{name} is being written by other machines at the same time; the result itself was "
            f"published, so try again"
        )

    def prepare(self, name: str, body: bytes) -> None:
        """Test once per process whether the server respects conditional writes."""
        if self.address not in _writable:
            self.bucket.check_conditions(name, body)
            _writable.add(self.address)

    def published(self, asset: str, partition: str, folder: Path) -> ObjectResult | None:
        """Return the result in a folder. The manifest and the files of the result are not checked."""
        result = ObjectResult(asset, partition, folder.name, folder, self.root, self.address)
        return None if result.stored is None else result

    def damage(self, result: PublishedResult, look: Look) -> Damage | None:
        """Return the damage of a result's manifest.

        If `look` is `REUSED`, also compare the sizes of the result's files in the bucket with the manifest. If `look`
        is `READ`, fetch the result with its parts, and return the damage that was found.
        """
        own = _own(result)
        if look is Look.READ:
            return damage_with_parts(own, _fetched)
        if not _is_usable(own):
            if look is Look.REUSED:
                raise self._in_the_way(own)
            _log.warning("%s/%s/%s", self.place, own.name, _UNUSABLE)
            return Damage(own, (_UNUSABLE,))
        reasons = lost_files(self.bucket, own.name, own.manifest) if look is Look.REUSED else ()
        return Damage(own, reasons) if reasons else None

    def examiner(self, *, deep: bool) -> Callable[[PublishedResult], Damage | None]:
        """Return a function that compares the sizes of a result's files with the manifest. The function lists the
        bucket once per result.

        `deep`: also compare the content of the files. Each part is examined once.
        """
        return partial(damage_with_parts, own=cache(partial(_examined, deep=deep)))

    def set_aside(self, result: PublishedResult) -> str | None:
        """Remove a result's manifest from the bucket, if the manifest is unchanged since it was read, and remove the
        local copy.

        The command `aflite doctor` removes the result's files. If a server ignores conditional deletes, a result that
        another machine publishes at the same moment is removed as well.
        """
        own = _own(result)
        name = f"{own.name}/{MANIFEST}"
        there = self.bucket.get(name)
        if there is not None and not (there.body == own.stored and self.bucket.delete_same(name, there.etag)):
            return None
        discard(own.copy)
        return "withdrawn"

    def publish(self, ready: Path, wanted: PublishedResult, log: Log) -> PublishedResult:
        """Upload a complete folder. The manifest is uploaded last, and the folder then becomes this machine's copy."""
        place = wanted.folder.relative_to(self.root).as_posix()
        body = upload_result(self.bucket, ready, place)
        if body is None:
            there = self.published(wanted.asset, wanted.partition, wanted.folder)
            if there is None:
                raise StoreError(f"{self.place}/{place} was published and withdrawn by another machine; try again")
            if not _is_usable(there):
                raise self._in_the_way(there)
            log(f"another machine published {self.place}/{place} first: its result is used")
            return there
        result = ObjectResult(wanted.asset, wanted.partition, wanted.key, wanted.folder, self.root, self.address, body)
        keep_copy(ready, result.copy, body)
        return result

    def _in_the_way(self, result: ObjectResult) -> LostObjectsError:
        return LostObjectsError(
            f"{self.place}/{result.name}/{_UNUSABLE}; run `aflite doctor --fix`, which removes it, then try again"
        )


def _is_usable(result: ObjectResult) -> bool:
    return result.stored is not None and read_manifest(result.stored, result.name) is not None


def _own(result: PublishedResult) -> ObjectResult:
    if not isinstance(result, ObjectResult):
        raise TypeError(f"{result} belongs to another store")
    return result


def _fetched(result: PublishedResult) -> tuple[str, ...] | None:
    """Fetch a result's files, and return the damage that was found. Return None if the result has no manifest."""
    own = _own(result)
    if own.stored is None:
        return None
    try:
        own.fetch()
    except LostObjectsError as error:
        return (str(error),)
    return ()


def _examined(result: PublishedResult, *, deep: bool) -> tuple[str, ...] | None:
    """Return the damage of a result in the bucket, or None if the result has no manifest."""
    own = _own(result)
    if own.stored is None:
        return None
    if not _is_usable(own):
        return (_UNUSABLE,)
    lost = lost_files(own.bucket, own.name, own.manifest)
    return lost or (changed_files(own.bucket, own.name, own.manifest) if deep else ())
