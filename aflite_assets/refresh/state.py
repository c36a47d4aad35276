"""State kept between refreshes below `AFLITE_HOME`: refused inputs, cron times, the last check, the pause.

Dagster keeps the history of runs, and so which runs failed or were cancelled. Any number of processes share the files.
Deleting the folder loses only these notes.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aflite_assets.errors import AfliteError, StoreError
from aflite_assets.results import ResultStore
from aflite_assets.results.files import write_json


@dataclass(frozen=True)
class Refusal:
    """Key of a stage's refused inputs, and the reason."""

    key: str
    why: str


@dataclass(frozen=True)
class Paused:
    """Start and reason of a pause of all refreshes."""

    since: datetime
    reason: str

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        since = f"{self.since.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        return f"refreshes are paused since {since}{reason}; `aflite resume` continues them"


_REFUSAL, _PAUSED = TypeAdapter(Refusal), TypeAdapter(Paused)


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

    def refusal(self, dataset: str, stage: str, key: str) -> str | None:
        """Return why a stage refused the inputs with this key, or None if it did not."""
        try:
            refusal = _REFUSAL.validate_json(self._refusal(dataset, stage).read_bytes())
        except (FileNotFoundError, ValidationError):  # with a damaged note, the stage is tried once more
            return None
        return refusal.why if refusal.key == key else None

    def note_refusal(self, dataset: str, stage: str, key: str, why: str) -> None:
        """Record that a stage refused the inputs with this key."""
        file = self._refusal(dataset, stage)
        self.make_folder(file.parent)
        write_json(file, _REFUSAL.dump_python(Refusal(key, why), mode="json"))

    def note_made(self, dataset: str, stage: str) -> None:
        """Forget that a stage refused inputs."""
        self._refusal(dataset, stage).unlink(missing_ok=True)

    def note_acted(self, dataset: str, *, until: datetime) -> None:
        """Record the time up to which the cron times of a dataset have been acted on."""
        self._note_time(self.folder / "acted" / dataset, until)

    def acted(self, dataset: str) -> datetime | None:
        """Return the time up to which the cron times of a dataset have been acted on, or None."""
        return _noted_time(self.folder / "acted" / dataset)

    def note_check(self, *, now: datetime) -> None:
        """Record that all datasets were planned."""
        self._note_time(self._checked, now)

    def last_check(self) -> datetime | None:
        """Return the time when all datasets were last planned, in UTC, or None if they never were."""
        return _noted_time(self._checked)

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

    def make_folder(self, folder: Path | None = None) -> None:
        """Make the folder of the notes, or a folder below it, if it does not exist."""
        try:
            (folder or self.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"notes about refreshes cannot be kept in {self.folder} ({error.strerror}); make it writable or set "
                "AFLITE_HOME"
            ) from error

    def _refusal(self, dataset: str, stage: str) -> Path:
        return self.folder / "refused" / dataset / f"{stage}.json"

    def _note_time(self, file: Path, time: datetime) -> None:
        self.make_folder(file.parent)
        file.touch()
        os.utime(file, (time.timestamp(), time.timestamp()))


def is_refusal(error: Exception) -> bool:
    """Return whether an error refuses inputs, and would refuse the same inputs again."""
    return isinstance(error, AfliteError) and error.refuses and not error.may_pass


def _noted_time(file: Path) -> datetime | None:
    """Return the time of a file in UTC, or None if it does not exist."""
    return datetime.fromtimestamp(file.stat().st_mtime, UTC) if file.exists() else None
