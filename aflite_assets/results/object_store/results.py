"""`ObjectResult`: a result in a bucket, whose manifest and files are fetched when they are asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from aflite_assets.errors import LostObjectsError
from aflite_assets.results.object_store.address import StoreAddress
from aflite_assets.results.object_store.bucket import Bucket, bucket_of
from aflite_assets.results.object_store.transfer import fetch_result, read_manifest
from aflite_assets.results.records import MANIFEST, PublishedResult


@dataclass(frozen=True)
class ObjectResult(PublishedResult):
    """Result in a bucket; its files are fetched when its path is asked for, its manifest when that is.

    `root`: the folder of this machine that copies lie below. `address`: that of the bucket. `known`: the manifest as it
    was read; None where it was not read yet.
    """

    root: Path = field(compare=False, repr=False)
    address: StoreAddress = field(compare=False, repr=False)
    known: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def bucket(self) -> Bucket:
        """The bucket, with this process's connections."""
        return bucket_of(self.address)

    @property
    def name(self) -> str:
        """Name of its folder in the bucket."""
        return self.folder.relative_to(self.root).as_posix()

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
        record = self.bucket.get(f"{self.name}/{MANIFEST}")
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
                f"{self.address} no longer has {self.asset} of {self.partition!r}, {self.name}; materialise it again"
            )
        return manifest

    @property
    def parts(self) -> Mapping[str, "ObjectResult"]:
        """As of every result; a part's manifest and files are fetched when they are asked for."""
        folder = self.folder.parent / "parts"
        return {
            name: ObjectResult(self.asset, self.partition, part["key"], folder / part["key"], self.root, self.address)
            for name, part in self.manifest["parts"].items()
        }

    def fetch(self) -> None:
        """Make this machine's copy whole; see `fetch_result`."""
        fetch_result(self.bucket, self.copy, self.name, self.manifest, self.stored or b"")
