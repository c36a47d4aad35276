"""`ObjectResult`: a result in a bucket. The manifest and the files of the result are fetched only when needed."""

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
    """Result in a bucket. Reading `path` fetches its files, and reading `manifest` fetches its manifest.

    `root`: this machine's folder of copies. `address`: the address of the bucket. `known`: the manifest's bytes, or
    None before the first read.
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
        """Name of the result's folder in the bucket."""
        return self.folder.relative_to(self.root).as_posix()

    @property
    def copy(self) -> PublishedResult:
        """The folder of the local copy. The local folder may be missing or hold another result."""
        return PublishedResult(self.asset, self.partition, self.key, self.folder)

    @property
    def path(self) -> Path:
        """The folder with the files, which are fetched if necessary.

        Raises:
            LostObjectsError: the bucket no longer holds the files.
            StoreError: the bucket cannot be reached, or the folder cannot be written.
        """
        return self._fetched

    @cached_property
    def _fetched(self) -> Path:
        self.fetch()
        return self.folder

    @cached_property
    def stored(self) -> bytes | None:
        """The bytes of the manifest, even of an invalid manifest, or None if there is no manifest."""
        if self.known is not None:
            return self.known
        record = self.bucket.get(f"{self.name}/{MANIFEST}")
        return None if record is None else record.body

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Manifest of the result. The field `attempt` of the manifest is the folder with the result's files in the
        bucket.

        Raises:
            LostObjectsError: the manifest no longer exists, or cannot be used.
        """
        manifest = None if self.stored is None else read_manifest(self.stored, self.name)
        if manifest is None:
            raise LostObjectsError(
                f"{self.address} no longer has {self.asset} of {self.partition!r}, {self.name}; materialise it again"
            )
        return manifest

    @property
    def parts(self) -> Mapping[str, "ObjectResult"]:
        """Parts of the result. The manifest and the files of a part are fetched when they are read."""
        folder = self.folder.parent / "parts"
        return {
            name: ObjectResult(self.asset, self.partition, part["key"], folder / part["key"], self.root, self.address)
            for name, part in self.manifest["parts"].items()
        }

    def fetch(self) -> None:
        """Complete this machine's copy of the result; see `fetch_result`."""
        fetch_result(self.bucket, self.copy, self.name, self.manifest, self.stored or b"")
