"""State kept between refreshes below `AFLITE_HOME`: stages without a result, cron times, the last check, the pause.

There is a JSON file per dataset, and one for the pause. Any number of processes share the files. Deleting the folder
loses only these notes.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from filelock import FileLock
from pydantic import TypeAdapter, ValidationError

from aflite_assets.errors import AfliteError, StoreError
from aflite_assets.results import ResultStore
from aflite_assets.results.files import write_json

INCOMPLETE = "its result lacks parts that failed"
MOST_TRIES = 3
"""Failures of a stage for one key until it is no longer tried; refused inputs count at once."""


@dataclass(frozen=True)
class Left:
    """Reason why a stage has no result for a key: refused inputs, `tries` failures, or a cancelled run."""

    key: str
    kind: Literal["refused", "failed", "cancelled"]
    why: str
    tries: int = MOST_TRIES

    @property
    def is_final(self) -> bool:
        """Whether no refresh tries the stage again before its key changes."""
        return self.kind != "failed" or self.tries >= MOST_TRIES


@dataclass
class Notes:
    """Notes about one dataset.

    `left`: stages without a result. `acted`: refreshes acted on all cron times up to this time. `run`: id
    of the last run that ended without success.
    """

    left: dict[str, Left] = field(default_factory=dict)
    acted: datetime | None = None
    run: str | None = None


@dataclass(frozen=True)
class Paused:
    """Start and reason of a pause of all refreshes."""

    since: datetime
    reason: str

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        since = f"{self.since.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        return f"refreshes are paused since {since}{reason}; `aflite resume` continues them"


_NOTES, _PAUSED = TypeAdapter(Notes), TypeAdapter(Paused)


class RefreshState:
    """The notes in one folder. All times have a time zone.

    Raises:
        StoreError: by every method, if the folder or a file cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = folder / "refresh.lock"
        """The file that a command holds locked while it refreshes."""
        self._pause_file, self._checked = folder / "paused.json", folder / "checked"

    @classmethod
    def beside(cls, store: ResultStore) -> "RefreshState":
        """Return the notes about refreshes of a store's results."""
        return cls(store.root.parent / "refresh")

    def notes(self, dataset: str) -> Notes:
        """Return the notes about a dataset."""
        file = self._file(dataset)
        try:
            return _NOTES.validate_json(file.read_bytes())
        except FileNotFoundError:
            return Notes()
        except (OSError, ValidationError) as error:
            why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.strerror
            raise StoreError(
                f"notes about refreshes cannot be read from {file} ({why}); make the file readable, or delete it if it "
                "is damaged: only failed stages and times are lost"
            ) from error

    def left(self, dataset: str, stage: str, key: str) -> Left | None:
        """Return why a stage has no result for a key, or None if it was not tried with this key."""
        left = self.notes(dataset).left.get(stage)
        return left if left is not None and left.key == key else None

    def note_failure(self, dataset: str, stage: str, key: str, error: str, *, is_refused: bool) -> None:
        """Record that a stage failed for a key, and whether it would fail each time."""
        with self._changing(dataset) as notes:
            before = notes.left.get(stage)
            tries = 1 + (before.tries if before is not None and before.key == key else 0)
            notes.left[stage] = Left(key, "refused" if is_refused else "failed", error, tries)

    def note_made(self, dataset: str, stage: str) -> None:
        """Forget why a stage had no result."""
        if stage in self.notes(dataset).left:
            with self._changing(dataset) as notes:
                notes.left.pop(stage, None)

    def note_run(self, dataset: str, run: str, left: Mapping[str, Left]) -> None:
        """Record that a run ended without success, and the stages that the run left without a result."""
        with self._changing(dataset) as notes:
            notes.run = run
            notes.left.update(left)

    def forget_run(self, dataset: str) -> None:
        """Forget the run that ended without success, and all noted stages except refused stages."""
        with self._changing(dataset) as notes:
            notes.run = None
            notes.left = {stage: left for stage, left in notes.left.items() if left.kind == "refused"}

    def note_acted(self, dataset: str, *, until: datetime) -> None:
        """Record the time up to which the cron times of a dataset have been acted on."""
        with self._changing(dataset) as notes:
            notes.acted = until

    def datasets(self) -> set[str]:
        """Return the datasets with a stage that has no result."""
        return {file.stem for file in self.folder.glob("datasets/*.json") if self.notes(file.stem).left}

    def note_check(self, *, now: datetime) -> None:
        """Record that all datasets were planned."""
        self.make_folder()
        self._checked.touch()
        os.utime(self._checked, (now.timestamp(), now.timestamp()))

    def last_check(self) -> datetime | None:
        """Return the time when all datasets were last planned, in UTC, or None if they never were."""
        return datetime.fromtimestamp(self._checked.stat().st_mtime, UTC) if self._checked.exists() else None

    def pause(self, *, reason: str, now: datetime) -> None:
        """Pause all refreshes until `resume`."""
        self.make_folder()
        write_json(self._pause_file, _PAUSED.dump_python(Paused(now, reason), mode="json"))

    def resume(self) -> bool:
        """End the pause; return whether there was one."""
        existed = self._pause_file.exists()
        self._pause_file.unlink(missing_ok=True)
        return existed

    def paused(self) -> Paused | None:
        """Return the pause, or None. A file that cannot be read counts as a pause."""
        try:
            return _PAUSED.validate_json(self._pause_file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            return Paused(datetime.fromtimestamp(0, UTC), f"{self._pause_file} cannot be read")

    def make_folder(self) -> None:
        """Make the folder of the notes if it does not exist."""
        try:
            (self.folder / "datasets").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"notes about refreshes cannot be kept in {self.folder} ({error.strerror}); make it writable or set "
                "AFLITE_HOME"
            ) from error

    def _file(self, dataset: str) -> Path:
        return self.folder / "datasets" / f"{dataset}.json"

    @contextmanager
    def _changing(self, dataset: str) -> Iterator[Notes]:
        """Lock and yield the notes about a dataset, and write the notes when the block ends."""
        self.make_folder()
        with FileLock(self.folder / ".notes.lock"):
            notes = self.notes(dataset)
            yield notes
            write_json(self._file(dataset), _NOTES.dump_python(notes, mode="json"))


def is_refusal(error: Exception) -> bool:
    """Return whether an error refuses inputs, and would refuse the same inputs again."""
    return isinstance(error, AfliteError) and error.refuses and not error.may_pass
