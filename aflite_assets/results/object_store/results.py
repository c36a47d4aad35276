"""`ObjectResult`: a result in a bucket, whose manifest and files are fetched when they are asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from aflite_assets.errors import LostObjectsError
from aflite_assets.results.object_store.bucket import Bucket
from aflite_assets.results.object_store.transfer import fetch_result, read_manifest
from aflite_assets.results.records import MANIFEST, PublishedResult


class Source(Protocol):
    """Where a result is fetched from: a bucket, and the folder of this machine that its copies lie below."""

    @property
    def root(self) -> Path:
        """The folder of this machine."""

    @property
    def bucket(self) -> Bucket:
        """The bucket."""


@dataclass(frozen=True)
class ObjectResult(PublishedResult):
    """Result in a bucket; its files are fetched when its path is asked for, its manifest when that is.

    `known`: the manifest as it was read; None where it was not read yet.
    """

    source: Source = field(compare=False, repr=False)
    known: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """What its folder is called in the bucket."""
        return self.folder.relative_to(self.source.root).as_posix()

    @property
    def copy(self) -> PublishedResult:
        """The copy on this machine, which may not be there, or hold something else."""
        return PublishedResult(self.asset, self.partition, self.key, self.folder)

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
    def stored(self) -> bytes | None:
        """The manifest's bytes, also of one that cannot be used; None where there is none."""
        if self.known is not None:
            return self.known
        record = self.source.bucket.get(f"{self.name}/{MANIFEST}")
        return None if record is None else record.body

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """As of every result, and `attempt`, where in the bucket its files are.

        Raises:
            LostObjectsError: there is no manifest any more, or it cannot be used.
        """
        manifest = None if self.stored is None else read_manifest(self.stored, self.name)
        if manifest is None:
            raise LostObjectsError(
                f"{self.source.bucket.address} no longer has {self.asset} of {self.partition!r}, {self.name}; "
                "materialise it again"
            )
        return manifest

    @property
    def parts(self) -> Mapping[str, "ObjectResult"]:
        """As of every result; a part's manifest and files are fetched when they are asked for."""
        folder = self.folder.parent / "parts"
        return {
            name: ObjectResult(self.asset, self.partition, part["key"], folder / part["key"], self.source)
            for name, part in self.manifest["parts"].items()
        }

    def fetch(self) -> None:
        """Make this machine's copy whole; see `fetch_result`."""
        fetch_result(self.source.bucket, self.copy, self.name, self.manifest, self.stored or b"")
