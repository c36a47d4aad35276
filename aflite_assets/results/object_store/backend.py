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
from pathlib import Path
from typing import ClassVar

from aflite_assets.errors import LostObjectsError, StoreError, StoreUnreachableError
from aflite_assets.results.damage import Damage, Look, damage_with_parts
from aflite_assets.results.object_store.address import StoreAddress
from aflite_assets.results.object_store.bucket import Bucket
from aflite_assets.results.object_store.results import ObjectResult, discard
from aflite_assets.results.records import MANIFEST, Log, PublishedResult

_TRIES = 20
"""Number of attempts to make a result current while other machines make their results current."""
_UNUSABLE = f"{MANIFEST} cannot be used"
_log = logging.getLogger(__name__)
_writable: set[StoreAddress] = set()
"""Addresses to which this process has written, so that each server is tested only once."""


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

    def replace(self, name: str, body: bytes, *, unless: Callable[[bytes], bool]) -> bytes | None:
        """Replace an object only if it has not changed since it was read, and repeat while other machines write.

        Raises:
            StoreUnreachableError: other machines do not stop writing.
        """
        for attempt in range(_TRIES):
            time.sleep(0.01 * attempt)
            there = self.get(name)
            if there is not None and unless(there.body):
                return there.body
            if self.put_if(name, body, there and there.etag):
                return None
        raise StoreUnreachableError(
            f"{self.place}/{name} is being written by other machines at the same time; the result itself was "
            f"published, so try again"
        )

    def prepare(self, name: str, body: bytes) -> None:
        """Test once per process whether the server respects conditional writes, which creates the object."""
        if self.address not in _writable:
            self.check_conditions(name, body)
            _writable.add(self.address)

    def result(self, asset: str, partition: str, folder: Path) -> ObjectResult:
        """Return the result in a folder. The manifest and the files of the result may be missing or damaged."""
        return ObjectResult(asset, partition, folder.name, folder, self.root, self)

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
        if not own.is_usable:
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
        if not own.is_usable:
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
        if not result.is_usable:
            raise self._in_the_way(result)
        log(f"another machine published {self.place}/{result.name} first: its result is used")
        return result

    def _in_the_way(self, result: ObjectResult) -> LostObjectsError:
        return LostObjectsError(
            f"{self.place}/{result.name}/{_UNUSABLE}; run `aflite doctor --fix`, which removes it, then try again"
        )


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
