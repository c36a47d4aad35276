"""`PublishedResult`: a published folder with its manifest. A published folder never changes. The module `store`
publishes results.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from aflite_assets.errors import DamagedManifestError, StoreError
from aflite_assets.results.manifests import MANIFEST as MANIFEST
from aflite_assets.results.manifests import load_manifest

Log = Callable[[str], None]
DAMAGED, WORK = ".damaged", ".work"
"""Folders next to results: results with content that differs from what was published, and files of unfinished
writers.
"""


@dataclass(frozen=True)
class PublishedResult:
    """One version of one asset's partition, or one version of a part.

    `asset` and `partition` identify the result, `key` is the name of its folder, and `folder` is the folder's absolute
    path.
    """

    asset: str
    partition: str
    key: str
    folder: Path

    @property
    def path(self) -> Path:
        """The folder with the result's files."""
        return self.folder

    @property
    def exists(self) -> bool:
        """True if there is a folder, even a damaged folder."""
        return self.folder.is_dir()

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Manifest: key, data version, summary, parts, environment and time of the result.

        Raises:
            DamagedManifestError: the manifest cannot be read, or was not published here.
        """
        path = self.path / MANIFEST
        try:
            return load_manifest(path, self.asset, self.partition, self.key)
        except ValueError as error:
            damaged = DamagedManifestError(
                f"{self.asset} of {self.partition!r} is damaged: {path} {error}; materialise {self.asset} again, or "
                "the whole dataset"
            )
            damaged.problem = f"{MANIFEST} {error}"
            raise damaged from error

    @property
    def data_version(self) -> str:
        """Hash of the published files and parts, 20 hexadecimal digits."""
        return str(self.manifest["data_version"])

    @property
    def version(self) -> dict[str, str]:
        """Key and data version, as manifests and `current.json` name a result."""
        return {"key": self.key, "data_version": self.data_version}

    @property
    def summary(self) -> dict[str, Any]:
        """Numbers that the stage reported about its result."""
        summary: dict[str, Any] = self.manifest["summary"]
        return summary

    @property
    def parts(self) -> Mapping[str, "PublishedResult"]:
        """Parts of this result by name, in the order of their creation."""
        folder = self.folder.parent / "parts"
        return {
            name: PublishedResult(self.asset, self.partition, part["key"], folder / part["key"])
            for name, part in self.manifest["parts"].items()
        }

    def part(self, name: str) -> "PublishedResult":
        """Return one part by name.

        Raises:
            StoreError: the result has no such part.
        """
        if name not in self.manifest["parts"]:
            raise StoreError(
                f"{self.asset} of {self.partition!r} has no part {name!r} (it has {sorted(self.manifest['parts'])}); "
                "materialise it again"
            )
        return self.parts[name]

    def file(self, name: str) -> Path:
        """Return the path of a published file.

        Raises:
            StoreError: the result holds no such file.
        """
        path = self.path / name
        if not path.is_file():
            raise StoreError(
                f"{self.asset} of {self.partition!r} holds no file {name!r} in {self.path}; "
                "if it was deleted, delete the folder too and materialise the asset again"
            )
        return path
