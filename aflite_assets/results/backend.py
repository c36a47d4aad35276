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
    """Reason for looking at a result. It decides how many requests an object store gets; a folder needs one look for
    everything.
    """

    LISTED = "to name it to readers, who look for themselves"
    FOUND = "to find it by its key"
    REUSED = "to use it again instead of making it"
    READ = "to make something from its files, which must be on this machine then"


class Backend(Protocol):
    """Operations on the place that holds the results. Any number of threads may use a backend.

    A backend of a folder raises `OSError`. A backend of a server raises `StoreError`, or one of its subclasses if the
    server does not answer or refuses.
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
        """The place of the results, in words."""

    def now(self) -> datetime | None:
        """Return the time by the clock that all writers share (UTC), or None if a lock keeps writers apart."""

    def read(self, name: str) -> bytes | None:
        """Return a small object's content, or None if there is no such object.

        Raises:
            ValueError: the object is too large or cannot be read.
        """

    def exists(self, name: str) -> bool:
        """Whether there is an object of this name."""

    def size(self, prefix: str) -> int:
        """Bytes of all objects whose name begins with `prefix`, which ends with a slash."""

    def folders(self, prefix: str) -> list[str]:
        """Return the names between `prefix` and the next slash, in order. `prefix` is empty or ends with a slash."""

    def put(self, name: str, body: bytes) -> None:
        """Write a small object in one step and replace the previous one."""

    def replace(self, name: str, body: bytes, *, unless: Callable[[bytes], bool]) -> bytes | None:
        """Write a small object, unless `unless` says that the present object should stay. Return the object that
        stayed, or None if `body` was written.

        If another writer replaces the object meanwhile, `unless` is asked about the new object as well, so nothing is
        lost.
        """

    def prepare(self, name: str, body: bytes) -> None:
        """Make the store ready for writing, by writing an object whose content is always `body`.

        Raises:
            UnsupportedStoreError: writers would overwrite each other's results.
        """

    def published(self, asset: str, partition: str, folder: Path) -> PublishedResult | None:
        """Return the result at a place, whole or damaged, or None if there is none."""

    def damage(self, result: PublishedResult, look: Look) -> Damage | None:
        """Return the damage of a result, as far as `look` needs to know it, or None if there is none.

        Raises:
            LostObjectsError: the result should be `REUSED`, but its place holds something that only the doctor may
                remove.
        """

    def examiner(self, *, deep: bool) -> Callable[[PublishedResult], Damage | None]:
        """Return a function that examines results and their parts one by one. `deep`: read every byte."""

    def set_aside(self, result: PublishedResult) -> str | None:
        """Remove a damaged result in one step, without its parts, and return in words how it was removed.

        Return None if the result is whole by now, or if another result was published meanwhile.
        """

    def publish(self, ready: Path, wanted: PublishedResult, log: Log) -> PublishedResult:
        """Publish a complete folder in one step. If another machine published first, return the other machine's result.

        The folder `ready` no longer exists afterwards. If publishing fails, `ready` stays.
        """
