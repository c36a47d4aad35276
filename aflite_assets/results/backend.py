"""Operations that a `ResultStore` needs from the location of the results, which is a folder or a bucket with local
copies.

Names are relative to the store and contain slashes: `embeddings/digits/current.json`. On this machine, a result has one
path below `root`. If the files of a result do not exist on this machine yet, they are fetched when the path is
requested.
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
    """Reason why a result is checked.

    The reason decides how many requests are sent to an object store; a folder is checked in the same way for each
    reason.
    """

    LISTED = "to name it to readers, who look for themselves"
    FOUND = "to find it by its key"
    REUSED = "to use it again instead of making it"
    READ = "to make something from its files, which must be on this machine then"


class Backend(Protocol):
    """Operations on the location that holds the results. Any number of threads may use a backend.

    A backend of a folder raises `OSError`. A backend of a server raises `StoreError`. If a server does not answer or
    refuses, its backend raises a subclass of `StoreError`.
    """

    keeps_copies: ClassVar[bool]
    """True if files on this machine are copies of objects in another location."""
    format_seconds: ClassVar[float]
    """Number of seconds for which a successful check of the store's format remains valid."""

    @property
    def root(self) -> Path:
        """The store's folder on this machine."""

    @property
    def place(self) -> str:
        """The location of the results, in words."""

    def now(self) -> datetime | None:
        """Return the time (UTC) of a clock that all writers share. Return None if no clock is needed because a lock
        allows only one writer at a time.
        """

    def read(self, name: str) -> bytes | None:
        """Return a small object's content, or None if there is no such object.

        Raises:
            ValueError: the object is too large or cannot be read.
        """

    def exists(self, name: str) -> bool:
        """Return True if there is an object of this name."""

    def size(self, prefix: str) -> int:
        """Return the size in bytes of all objects with names that begin with `prefix`, which ends with a slash."""

    def folders(self, prefix: str) -> list[str]:
        """Return, in order, the part of each name that is between `prefix` and the next slash.

        `prefix` is empty or ends with a slash.
        """

    def put(self, name: str, body: bytes) -> None:
        """Write a small object in one step. If the object exists already, it is replaced."""

    def replace(self, name: str, body: bytes, *, unless: Callable[[bytes], bool]) -> bytes | None:
        """Write a small object, unless the function `unless` returns True for the object's present content.

        Return the content that was kept, or None if `body` was written. If another writer replaces the object
        before `body` is written, `unless` is called again with the new content, so no change is lost.
        """

    def prepare(self, name: str, body: bytes) -> None:
        """Prepare the store for writing: make sure that the object `name` exists, with the content `body`.

        Raises:
            UnsupportedStoreError: writers would overwrite each other's results.
        """

    def published(self, asset: str, partition: str, folder: Path) -> PublishedResult | None:
        """Return the result in a folder, even if the result is damaged. Return None if there is no result."""

    def damage(self, result: PublishedResult, look: Look) -> Damage | None:
        """Return the damage of a result, or None if no damage was found. The reason for the check, `look`, determines
        how much is checked.

        Raises:
            LostObjectsError: `look` is `REUSED`, but an object that only `aflite doctor` may remove prevents a new
                result from being published.
        """

    def examiner(self, *, deep: bool) -> Callable[[PublishedResult], Damage | None]:
        """Return a function that checks one result or part and returns its damage. `deep`: read every byte."""

    def set_aside(self, result: PublishedResult) -> str | None:
        """Remove a damaged result, but not its parts, in one step. Return a text that describes the removal.

        Return None if the result is no longer damaged, or if another result was published before the removal.
        """

    def publish(self, ready: Path, wanted: PublishedResult, log: Log) -> PublishedResult:
        """Publish a complete folder in one step.

        If another machine published first, return the other machine's result. After publication, the folder `ready` no
        longer exists; if publishing fails, `ready` remains.
        """
