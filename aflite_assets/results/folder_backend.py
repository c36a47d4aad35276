"""Results in a folder. A result is published by one rename, and set aside by another rename. A check for damage reads
the result's files.

The class documents the operations that a `ResultStore` needs; `ObjectBackend` has the same operations for a bucket with
local copies. Names are relative to the store and contain slashes: `embeddings/digits/current.json`.
"""

import errno
import os
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from aflite_assets.results.damage import Damage, Look, find_damage, forget, own_damage, record_verified
from aflite_assets.results.files import flush_entry, folder_size, json_bytes, read_small, write_bytes
from aflite_assets.results.records import DAMAGED, MANIFEST, WORK, Log, PublishedResult

# Parts of one result are made by threads.
_setting_aside = threading.Lock()


@dataclass(frozen=True)
class FolderBackend:
    """Backend for results in a folder, used by processes that can lock files against each other.

    Any number of threads may use a backend. This backend raises `OSError`, and the backend of a server raises
    `StoreError`. `format_seconds`: number of seconds for which a successful check of the store's format remains valid.
    """

    root: Path
    format_seconds: ClassVar[float] = 0.0

    @property
    def place(self) -> str:
        """The location of the results, in words."""
        return str(self.root)

    def now(self) -> datetime | None:
        """Return the time (UTC) of a clock that all writers share. None: the lock allows only one writer at a time."""
        return None

    def read(self, name: str) -> bytes | None:
        """Return a small file's content, or None if there is no such file.

        Raises:
            ValueError: the file is too large or cannot be read.
        """
        try:
            return read_small(self.root / name)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def exists(self, name: str) -> bool:
        """Return True if there is a file of this name."""
        return (self.root / name).is_file()

    def size(self, prefix: str) -> int:
        """Return the size in bytes of all files with names that begin with `prefix`, which ends with a slash."""
        return folder_size(self.root / prefix)

    def folders(self, prefix: str) -> list[str]:
        """Return, in order, the part of each name that is between `prefix` and the next slash.

        `prefix` is empty or ends with a slash.
        """
        place = self.root / prefix
        return sorted(path.name for path in place.iterdir() if path.is_dir()) if place.is_dir() else []

    def put(self, name: str, body: bytes) -> None:
        """Write a small file in one step. If the file exists already, it is replaced."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, body)

    def make_current(self, name: str, mark: Mapping[str, str], asked: datetime | None) -> str | None:
        """Write the key and data version of a current result to the file `name`, and return None.

        If another writer requested another result after the time `asked`, nothing is written, and the other key is
        returned. In a folder, the lock allows only one writer at a time.
        """
        self.put(name, json_bytes(mark))
        return None

    def prepare(self, name: str, body: bytes) -> None:
        """Prepare the store for writing: make sure that the file `name` exists, with the content `body`."""
        if not (self.root / name).exists():
            self.put(name, body)

    def result(self, asset: str, partition: str, folder: Path) -> PublishedResult:
        """Return the result in a folder. The result may be missing or damaged."""
        return PublishedResult(asset, partition, folder.name, folder)

    def damage(self, result: PublishedResult, look: Look) -> Damage | None:
        """Return the damage of a result and its parts, or None if no damage was found.

        If `look` is `LISTED`, only check whether the manifest is missing.
        """
        if look is not Look.LISTED:
            return find_damage(result)
        return None if (result.folder / MANIFEST).is_file() else Damage(result, (f"{MANIFEST} is missing",))

    def own_damage(self, result: PublishedResult, *, deep: bool) -> tuple[str, ...]:
        """Return the damage of a result without its parts. `deep`: read every byte."""
        return own_damage(result, ignore_cache=deep)

    def set_aside(self, result: PublishedResult) -> str | None:
        """Rename a damaged folder, but not its parts, and return a text that describes the removal.

        Return None if the result is no longer damaged. The renamed folder is kept for some time.
        """
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        home = self.root / result.asset / result.partition
        target = home / DAMAGED / f"{result.key}-{moment}"
        with _setting_aside:
            if find_damage(result) is None:
                return None  # another thread has set it aside meanwhile
            target.parent.mkdir(exist_ok=True)
            # Its files may be hard links to scratch files.
            shutil.rmtree(home / WORK / result.key, ignore_errors=True)
            result.path.rename(target)
            os.utime(target)  # so that prune keeps it for some time from now on
            forget(result)
        return f"set aside as {target}"

    def publish(self, ready: Path, wanted: PublishedResult, log: Log) -> PublishedResult:
        """Publish a complete folder by renaming it. If another machine published first, return its result.

        After publication, the folder `ready` no longer exists; if publishing fails, `ready` remains.

        Raises:
            OSError: the target path cannot be written, or another file or folder exists at this path.
        """
        target = wanted.folder
        target.parent.mkdir(exist_ok=True)
        try:
            ready.rename(target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY) or find_damage(wanted) is not None:
                raise
            # On a shared disk a folder that another machine has just published may be seen only now.
            shutil.rmtree(ready)
            log(f"another machine published {target} first: its result is used")
        flush_entry(target.parent)
        record_verified(wanted)
        return wanted
