"""`ObjectResultStore`: results in a bucket, with a copy on this machine of what was made or read here.

What is published, current or refused is decided in the bucket; readers get paths of the copy. Below `root` lie:

<root>/<asset>/<partition>/<key>/            fetched results, and those published from here; the same for parts
<root>/<asset>/<partition>/.work/<key>/      what an unfinished writer left; `ready/` is whole and only not uploaded yet
<root>/<asset>/<partition>/.fetching/        results that are being fetched
<root>/.locks                                locks of datasets, which hold on this machine alone
"""

import json
import logging
import math
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from aflite_assets.errors import (
    LostObjectsError,
    StoreAccessError,
    StoreError,
    StoreUnreachableError,
    UnsupportedStoreError,
)
from aflite_assets.results.damage import Damage
from aflite_assets.results.files import folder_hashes, parse_json, write_json
from aflite_assets.results.keys import ResultKey, current_digest, is_digest
from aflite_assets.results.manifests import load_manifest
from aflite_assets.results.object_store.address import StoreAddress
from aflite_assets.results.object_store.bucket import Bucket, Content, bucket_of
from aflite_assets.results.object_store.transfer import (
    discard,
    fetch_result,
    keep_copy,
    lost_files,
    read_manifest,
    upload_result,
)
from aflite_assets.results.records import MANIFEST, PublishedResult
from aflite_assets.results.store import (
    CURRENT,
    FORMAT,
    FORMAT_FILE,
    NAME,
    RESERVED,
    WORK,
    Draft,
    Log,
    ResultStore,
    Write,
)

READY = "ready"
_TRIES = 20
"""Tries to make a result current while others make theirs so."""
_log = logging.getLogger(__name__)
_FORMAT_BODY = (json.dumps({"format": FORMAT}) + "\n").encode()
_FORMAT_SECONDS = 60.0
"""So long a store's format is not looked at again."""
_format_seen: dict[StoreAddress, float] = {}
_writable: set[StoreAddress] = set()
"""Addresses that this process has written to, so that the server is tried once."""


@dataclass(frozen=True)
class ObjectResult(PublishedResult):
    """A result in a bucket; its files are fetched when its path is asked for, its manifest when that is.

    `known`: the manifest as it was read; None where it was not read yet.
    """

    store: "ObjectResultStore" = field(compare=False, repr=False)
    known: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def path(self) -> Path:
        """The folder with the files in it, fetched now if need be.

        Raises:
            LostObjectsError: the bucket no longer holds them.
            StoreError: it cannot be reached, or the folder cannot be written.
        """
        return self._fetched

    @cached_property
    def _fetched(self) -> Path:
        self.fetch()
        return self.folder

    @cached_property
    def body(self) -> bytes:
        """The manifest's bytes.

        Raises:
            LostObjectsError: there is no manifest any more, or it cannot be used.
        """
        if self.known is not None:
            return self.known
        content = self.store.bucket.get(f"{self.store.name_of(self.folder)}/{MANIFEST}")
        if content is None or read_manifest(content.body, self.store.name_of(self.folder)) is None:
            raise LostObjectsError(
                f"{self.store.place} no longer has {self.asset} of {self.partition!r}, "
                f"{self.store.name_of(self.folder)}; "
                "materialise it again"
            )
        return content.body

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """As of every result, and `attempt`, where in the bucket its files are."""
        manifest: dict[str, Any] = parse_json(self.body)
        return manifest

    @property
    def parts(self) -> Mapping[str, "ObjectResult"]:
        """As of every result; a part's manifest and files are fetched when they are asked for."""
        folder = self.folder.parent / "parts"
        return {
            name: ObjectResult(self.asset, self.partition, part["key"], folder / part["key"], self.store)
            for name, part in self.manifest["parts"].items()
        }

    def stored_body(self) -> bytes | None:
        """Return the manifest's bytes, also of one that cannot be used; None where there is none."""
        try:
            return self.body
        except LostObjectsError:
            content = self.store.bucket.get(f"{self.store.name_of(self.folder)}/{MANIFEST}")
            return None if content is None else content.body

    def fetch(self) -> None:
        """Make this machine's copy whole; see `fetch_result`."""
        fetch_result(self.store.bucket, self, self.store.name_of(self.folder), self.body)


@dataclass(frozen=True)
class ObjectResultStore(ResultStore):
    """Results in a bucket, shared by any number of machines; `root` is this machine's folder of copies and drafts.

    Two machines that make the same result both work; one publishes it, and the other takes that.
    """

    address: StoreAddress
    keeps_copies: ClassVar[bool] = True

    @property
    def bucket(self) -> Bucket:
        """The bucket, with this process's connections."""
        return bucket_of(self.address)

    @property
    def place(self) -> str:
        """The address."""
        return str(self.address)

    def name_of(self, path: Path) -> str:
        """Return what a path below `root` is called in the bucket."""
        return path.relative_to(self.root).as_posix()

    def needs_folder(self, command: str, *, instead: str) -> None:
        """Refuse a command that walks a folder.

        Raises:
            UnsupportedStoreError: always.
        """
        raise UnsupportedStoreError(f"{command} does not work on the object store {self.address}; {instead}")

    def has(self, asset: str, partition: str, key: str) -> bool:
        """Whether a result of this key's digest was published."""
        return self.bucket.exists(f"{asset}/{partition}/{key}/{MANIFEST}")

    def size(self, partition: str) -> int:
        """Bytes of everything that the bucket keeps of a dataset."""
        homes = [f"{asset}/{partition}/" for asset in self._assets()]
        return sum(each.size for home in homes for each in self.bucket.objects(home))

    def write_record(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Write a record into the bucket."""
        self.bucket.put(self.name_of(path), _json(fields))

    def current(self, asset: str, partition: str) -> PublishedResult:
        """Return the version of an asset's partition that downstream reads; its files are fetched when they are asked
        for.

        Raises:
            StoreError: nothing was published yet, or the result named is gone.
        """
        home = self._home(asset, partition)
        key = self.current_key(asset, partition)
        if key is None:
            raise StoreError(
                f"{asset} of {partition!r} was never materialised below {self.place}; materialise it first"
            )
        result = self._published(asset, partition, home / key)
        if result is None:
            raise StoreError(
                f"{asset} of {partition!r} has no current result any more: {self.place}/{self.name_of(home / key)}; "
                "materialise it again"
            )
        return result

    def current_key(self, asset: str, partition: str) -> str | None:
        """Return the key of the version that downstream reads, None where nothing was published.

        Raises:
            StoreError: the mark cannot be read.
        """
        mark = self._mark(asset, partition)
        return None if mark is None else mark[0]["key"]

    def find_part_or_set_aside(
        self, asset: str, partition: str, key: ResultKey, *, log: Log = lambda line: None
    ) -> PublishedResult | None:
        """Return the published part of a key whose files the bucket has by their sizes, or None; others are withdrawn.

        The files are compared with their hashes when they are fetched.

        Raises:
            LostObjectsError: a manifest that cannot be used lies there.
        """
        part = self._usable(asset, partition, self._part_folder(asset, partition, key))
        lost = () if part is None else lost_files(self.bucket, self.name_of(part.folder), part.manifest)
        if part is not None and lost:
            self.withdraw(part, part.body, "; ".join(lost), log=log)
        return None if lost else part

    def check_inputs(self, inputs: Iterable[PublishedResult], *, reader: str, log: Log = lambda line: None) -> None:
        """Fetch the files of results and of their parts, comparing hashes, before something is made from them.

        Raises:
            StoreError: the bucket lost files of one; it was withdrawn, so that its stage makes it again when it is run.
        """
        for result in inputs:
            if not isinstance(result, ObjectResult):
                raise TypeError(f"{result} belongs to another store")
            reasons = self._fetch_with_parts(result, log)
            if reasons:
                why = "; ".join(reasons)
                withdrawn = self.withdraw(result, result.body, why, log=log)
                raise StoreError(
                    f"{reader} was not computed: {result.asset} of {result.partition!r}, which it reads, is damaged "
                    f"in {self.place} ({why}) and was {'withdrawn' if withdrawn else 'published again meanwhile'}; "
                    f"materialise {result.asset} again, or the whole dataset"
                )

    def withdraw(self, result: PublishedResult, body: bytes | None, why: str, *, log: Log = lambda line: None) -> bool:
        """Take a result's manifest out of the bucket, so that it is made again; the doctor removes its files.

        `body`: the manifest as it was found; another one, published since, stays, and then nothing is done. Where a
        server ignores conditions of deletes, one that is published in the very moment is withdrawn too. Returns whether
        no manifest is left.
        """
        name = f"{self.name_of(result.folder)}/{MANIFEST}"
        there = self.bucket.get(name)
        if there is not None and not (there.body == body and self.bucket.delete_same(name, there.etag)):
            _log.info("%s/%s was published again meanwhile, so it is kept", self.place, name)
            return False
        discard(result)
        line = f"{self.place}/{self.name_of(result.folder)} is damaged ({why}): withdrawn; it will be computed again"
        _log.warning("%s", line)
        log(line)
        return True

    def partitions(self) -> Iterator[tuple[str, str, Path]]:
        """Every asset's partition in the bucket: asset, partition and this machine's folder, in the order of names."""
        for asset in self._assets():
            for partition in sorted(self.bucket.folders(f"{asset}/")):
                if NAME.fullmatch(partition):
                    yield asset, partition, self.root / asset / partition

    def results(self, asset: str, partition: str, *, parts: bool = False) -> Iterator[PublishedResult]:
        """Every result in the bucket of an asset's partition, or every part."""
        home = self._home(asset, partition)
        place = home / "parts" if parts else home
        for key in sorted(self.bucket.folders(f"{self.name_of(place)}/")):
            result = self._published(asset, partition, place / key) if is_digest(key) else None
            if result is not None:
                yield result

    def bring_current(self, asset: str) -> None:
        """Fetch the current results of an asset, and note in this machine's folder that they are, and no others.

        One that is lost is left out, with a warning.

        Raises:
            StoreError: the bucket cannot be reached, or refuses.
        """
        brought = {
            home for name, partition, home in self.partitions() if name == asset and self._bring(asset, partition)
        }
        for mark in self.root.glob(f"{asset}/*/{CURRENT}"):
            if mark.parent not in brought:
                mark.unlink(missing_ok=True)

    def _bring(self, asset: str, partition: str) -> bool:
        try:
            if self.current_key(asset, partition) is None:
                return False
            result = self.current(asset, partition)
            folder = result.path
        except (StoreAccessError, StoreUnreachableError, UnsupportedStoreError):
            raise
        except StoreError as error:
            _log.warning("%s", error)
            return False
        write_json(folder.parent / CURRENT, {"key": result.key, "data_version": result.data_version})
        return True

    def _assets(self) -> list[str]:
        names = sorted(self.bucket.folders())
        return [name for name in names if NAME.fullmatch(name) and name not in RESERVED]

    def _whole(self, asset: str, partition: str, key: ResultKey, folder: Path) -> PublishedResult | None:
        self.check_format()
        return self._published(asset, partition, folder)

    def _published(self, asset: str, partition: str, folder: Path) -> ObjectResult | None:
        """Return what was published into a place; a manifest that cannot be used counts as none."""
        try:
            return self._usable(asset, partition, folder)
        except LostObjectsError as error:
            _log.warning("%s", error)
            return None

    def _usable(self, asset: str, partition: str, folder: Path) -> ObjectResult | None:
        """Return what was published into a place.

        Raises:
            LostObjectsError: a manifest that cannot be used lies there, so that nothing can be published.
        """
        name = f"{self.name_of(folder)}/{MANIFEST}"
        content = self.bucket.get(name)
        if content is None:
            return None
        if read_manifest(content.body, self.name_of(folder)) is None:
            raise LostObjectsError(
                f"{self.place}/{name} cannot be used; run `aflite doctor --fix`, which removes it, then try again"
            )
        return ObjectResult(asset, partition, folder.name, folder, self, content.body)

    def _format_body(self) -> bytes | None:
        if time.monotonic() - _format_seen.get(self.address, -math.inf) < _FORMAT_SECONDS:
            return None
        content = self.bucket.get(FORMAT_FILE)
        if content is not None and content.body == _FORMAT_BODY:
            _format_seen[self.address] = time.monotonic()
        return None if content is None else content.body

    def _prepare(self) -> None:
        if self.address not in _writable:
            self.bucket.check_conditions(FORMAT_FILE, _FORMAT_BODY)
            _writable.add(self.address)

    def _moment(self, asset: str, partition: str) -> datetime:
        return self.bucket.now()

    def _found(
        self, asset: str, partition: str, key: ResultKey, log: Log
    ) -> tuple[PublishedResult | None, Damage | None]:
        return self._usable(asset, partition, self._home(asset, partition) / key.digest), None

    def _make_current(self, result: PublishedResult, *, asked: datetime, log: Log) -> None:
        """Compare and set: what was asked for later stays, whoever writes last."""
        asset, partition = result.asset, result.partition
        name = self._mark_name(asset, partition)
        body = _json({"key": result.key, "data_version": result.data_version, "asked": asked.isoformat()})
        for attempt in range(_TRIES):
            time.sleep(0.01 * attempt)
            mark = self._mark(asset, partition)
            if mark is None:
                written = self.bucket.put_new(name, body)
            elif _asked(mark[0]) > asked:
                # Two machines that made the same result at once agree about what is current.
                if mark[0]["key"] != result.key:
                    log(
                        f"another machine requested {asset} of {partition!r} later: its {mark[0]['key']} remains "
                        "current"
                    )
                return
            else:
                written = self.bucket.put_over(name, body, mark[1].etag)
            if written:
                return
        raise StoreUnreachableError(
            f"{self.place}/{name} is being written by other machines; {result.key} was published, so try again"
        )

    def _mark_name(self, asset: str, partition: str) -> str:
        return f"{self.name_of(self._home(asset, partition))}/{CURRENT}"

    def _mark(self, asset: str, partition: str) -> tuple[dict[str, str], Content] | None:
        content = self.bucket.get(self._mark_name(asset, partition))
        if content is None:
            return None
        try:
            fields = parse_json(content.body)
            current_digest(fields)
            return {name: str(fields.get(name, "")) for name in ("key", "data_version", "asked")}, content
        except ValueError as error:
            raise StoreError(
                f"{self.place}/{self._mark_name(asset, partition)} cannot be read ({error}); delete it, and "
                f"materialise {asset} of {partition!r} again"
            ) from None

    def _set_aside(self, damage: Damage, then: str, log: Log) -> None:
        """Remove this machine's copies: the bucket has the content, and a copy is fetched when it is read."""
        for part in damage.parts:
            self._set_aside(part, then, log)
        discard(damage.result)
        line = f"{damage.result.folder} is damaged ({damage.files}): removed here; it is fetched at the next read"
        _log.warning("%s", line)
        log(line)

    def _fetch_with_parts(self, result: ObjectResult, log: Log) -> list[str]:
        """Fetch a result and its parts; what is wrong is returned, and parts that lost files are withdrawn."""
        reasons = []
        for name, part in result.parts.items():
            try:
                part.fetch()
                if part.data_version != result.manifest["parts"][name]["data_version"]:
                    reasons.append(f"part {name} was computed again with other content")
            except LostObjectsError as error:
                self.withdraw(part, part.stored_body(), str(error), log=log)
                reasons.append(f"part {name}: {error}")
        try:
            result.fetch()
        except LostObjectsError as error:
            reasons.append(str(error))
        return reasons

    def _publish(
        self, asset: str, partition: str, key: ResultKey, target: Path, write: Write, log: Log
    ) -> PublishedResult:
        ready = self._home(asset, partition) / WORK / key.digest / READY / key.digest
        if not self._can_be_uploaded(asset, partition, ready):
            return super()._publish(asset, partition, key, target, write, log)
        log(f"{asset} of {partition!r} was computed before but not uploaded: {ready} is uploaded now")
        result = self._upload(PublishedResult(asset, partition, key.digest, target), ready, log)
        shutil.rmtree(ready.parents[1], ignore_errors=True)
        return result

    def _place(self, draft: Draft, target: Path) -> PublishedResult:
        # It stays where an upload fails, so that the work is not done again.
        ready = draft.path.parent / READY / draft.key.digest
        shutil.rmtree(ready.parent, ignore_errors=True)
        ready.parent.mkdir()
        draft.path.rename(ready)
        shutil.rmtree(draft.scratch, ignore_errors=True)  # removing a file's other links changes its times
        return self._upload(PublishedResult(draft.asset, draft.partition, draft.key.digest, target), ready, draft.log)

    def _can_be_uploaded(self, asset: str, partition: str, ready: Path) -> bool:
        """Whether a folder is a result that was made and not uploaded, of parts that are still what they were."""
        try:
            manifest = load_manifest(ready / MANIFEST, asset, partition, ready.name)
            hashes = folder_hashes(ready)
            del hashes[MANIFEST]
            if hashes != manifest["files"]:
                return False
            parts = self._home(asset, partition) / "parts"
            found = [
                (self._published(asset, partition, parts / part["key"]), part) for part in manifest["parts"].values()
            ]
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return all(there is not None and there.data_version == part["data_version"] for there, part in found)

    def _upload(self, wanted: PublishedResult, ready: Path, log: Log) -> ObjectResult:
        place = self.name_of(wanted.folder)
        body = upload_result(self.bucket, ready, place)
        if body is None:
            there = self._usable(wanted.asset, wanted.partition, wanted.folder)
            if there is None:
                raise StoreError(f"{self.place}/{place} was published and withdrawn by another machine; try again")
            log(f"another machine published {self.place}/{place} first: its result is used")
            return there
        result = ObjectResult(wanted.asset, wanted.partition, wanted.key, wanted.folder, self, body)
        keep_copy(ready, result, body)
        return result


def _json(fields: Mapping[str, Any]) -> bytes:
    return (json.dumps(fields, indent=2, allow_nan=False) + "\n").encode()


def _asked(mark: Mapping[str, str]) -> datetime:
    earliest = datetime.min.replace(tzinfo=UTC)
    try:
        asked = datetime.fromisoformat(mark["asked"])
    except ValueError:  # written by hand
        return earliest
    return earliest if asked.tzinfo is None else asked
