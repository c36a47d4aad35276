"""Results in a folder. A result is published by one rename, and set aside by another rename. A check for damage reads
the result's files.
"""

import errno
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import ClassVar

from aflite_assets.results.backend import Log, Look
from aflite_assets.results.damage import Damage, find_damage, forget, record_verified
from aflite_assets.results.files import flush_entry, folder_size, read_small, write_bytes
from aflite_assets.results.records import DAMAGED, MANIFEST, WORK, PublishedResult

# Parts of one result are made by threads.
_setting_aside = threading.Lock()


@dataclass(frozen=True)
class FolderBackend:
    """Backend for results in a folder, used by processes that can lock files against each other; see `Backend`."""

    root: Path
    keeps_copies: ClassVar[bool] = False
    format_seconds: ClassVar[float] = 0.0

    @property
    def place(self) -> str:
        """Path of the folder as text."""
        return str(self.root)

    def now(self) -> None:
        """Return None, because the lock of an asset's folder allows only one writer at a time."""

    def read(self, name: str) -> bytes | None:
        """Return a small file's content."""
        try:
            return read_small(self.root / name)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def exists(self, name: str) -> bool:
        """Return True if there is a file of this name."""
        return (self.root / name).is_file()

    def size(self, prefix: str) -> int:
        """Return the size in bytes of all files below a folder."""
        return folder_size(self.root / prefix)

    def folders(self, prefix: str) -> list[str]:
        """Return the names of the folders in a folder."""
        place = self.root / prefix
        return sorted(path.name for path in place.iterdir() if path.is_dir()) if place.is_dir() else []

    def put(self, name: str, body: bytes) -> None:
        """Write a file in one step, and create its folder if the folder is missing."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, body)

    def replace(self, name: str, body: bytes, *, unless: Callable[[bytes], bool]) -> bytes | None:
        """Write a file. Only the holder of the asset's lock may call this method. An unreadable file is replaced."""
        try:
            there = self.read(name)
        except (OSError, ValueError):
            there = None
        if there is not None and unless(there):
            return there
        self.put(name, body)
        return None

    def prepare(self, name: str, body: bytes) -> None:
        """Write the file if it does not exist."""
        if not (self.root / name).exists():
            self.put(name, body)

    def published(self, asset: str, partition: str, folder: Path) -> PublishedResult | None:
        """Return the result in a folder, or None if there is no folder."""
        return PublishedResult(asset, partition, folder.name, folder) if folder.is_dir() else None

    def damage(self, result: PublishedResult, look: Look) -> Damage | None:
        """Return the damage of a result and its parts.

        If `look` is `LISTED`, only check whether the manifest is missing.
        """
        if look is not Look.LISTED:
            return find_damage(result)
        return None if (result.folder / MANIFEST).is_file() else Damage(result, (f"{MANIFEST} is missing",))

    def examiner(self, *, deep: bool) -> Callable[[PublishedResult], Damage | None]:
        """Return the function `find_damage`. `deep`: also hash files that look unchanged."""
        return partial(find_damage, ignore_cache=deep)

    def set_aside(self, result: PublishedResult) -> str | None:
        """Rename a damaged folder. The renamed folder is kept for some time."""
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
        """Publish a complete folder by renaming it.

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
