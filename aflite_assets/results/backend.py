"""Operations that a `ResultStore` asks of the place where results lie: a folder, or a bucket with copies here.

Names are relative to the store and have slashes: `embeddings/digits/current.json`. Results keep their places below
`root` on this machine, whether their files are there or are fetched when a path is asked for.
"""

from collections.abc import Callable
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import ClassVar, Protocol

from aflite_assets.results.damage import Damage
from aflite_assets.results.records import PublishedResult

Log = Callable[[str], None]


class Look(Enum):
    """Why a result is looked at, which decides how much an object store is asked; a folder tells all at once."""

    LISTED = "to name it to readers, who look for themselves"
    FOUND = "to find it by its key"
    REUSED = "to use it again instead of making it"
    READ = "to make something from its files, which must be on this machine then"


class Backend(Protocol):
    """Operations on the place where results lie; any number of threads may use them.

    Those on a folder raise `OSError`; those on a server `StoreError`, or its kinds for servers that do not answer or
    refuse.
    """

    keeps_copies: ClassVar[bool]
    """Whether files on this machine are copies of what lies elsewhere."""
    format_seconds: ClassVar[float]
    """So long a format that was right is not looked at again."""

    @property
    def root(self) -> Path:
        """The folder of this machine."""

    @property
    def place(self) -> str:
        """Where the results lie, in words."""

    def now(self) -> datetime | None:
        """Return the time by the clock that all writers share (UTC); None where a lock keeps writers apart."""

    def read(self, name: str) -> bytes | None:
        """Return a small object's content, or None where there is none.

        Raises:
            ValueError: it is too large, or nothing that can be read.
        """

    def exists(self, name: str) -> bool:
        """Whether there is an object of this name."""

    def size(self, prefix: str) -> int:
        """Bytes of all objects whose name begins with `prefix`, which ends with a slash."""

    def folders(self, prefix: str) -> list[str]:
        """Return what stands between `prefix`, empty or with a slash at its end, and the next slash, in order."""

    def put(self, name: str, body: bytes) -> None:
        """Write a small object in one step, whatever was there."""

    def replace(self, name: str, body: bytes, *, unless: Callable[[bytes], bool]) -> bytes | None:
        """Write a small object, unless what is there is to stay; what stayed is returned, None if `body` was written.

        Nothing that another writer puts there in between is lost: `unless` is asked about it too.
        """

    def prepare(self, name: str, body: bytes) -> None:
        """Make the store ready to be written, with an object that always has this body.

        Raises:
            UnsupportedStoreError: writers would overwrite each other's results.
        """

    def published(self, asset: str, partition: str, folder: Path) -> PublishedResult | None:
        """Return what lies in a result's place, whole or damaged; None where there is nothing."""

    def damage(self, result: PublishedResult, look: Look) -> Damage | None:
        """Return what is wrong with a result, as far as `look` needs to know; None if nothing is.

        Raises:
            LostObjectsError: something lies in the place of one that was to be `REUSED`, which only the doctor may
                remove.
        """

    def examiner(self, *, deep: bool) -> Callable[[PublishedResult], Damage | None]:
        """Return what looks at one result after another with their parts; `deep`: at every byte."""

    def set_aside(self, result: PublishedResult) -> str | None:
        """Take a damaged result away in one step, without its parts; how, in words.

        None where it is whole by now, or another one has been published meanwhile.
        """

    def publish(self, ready: Path, wanted: PublishedResult, log: Log) -> PublishedResult:
        """Publish a folder that is whole, in one step; one that another machine published first is returned instead.

        `ready` is gone afterwards, and stays where that fails.
        """
