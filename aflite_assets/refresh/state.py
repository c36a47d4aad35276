"""State kept between refreshes below `AFLITE_HOME`: refused inputs, cron times, the pause.

Dagster keeps the history of runs, and so which runs failed or were cancelled. Any number of processes share the files.
Deleting the folder loses only these notes.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

from aflite_assets.errors import AfliteError, StoreError
from aflite_assets.results import ResultStore
from aflite_assets.results.files import write_bytes


class RefreshState:
    """The notes in one folder. All times have a time zone.

    Raises:
        StoreError: by every method that writes, if the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = folder / "refresh.lock"
        """The file that a command holds locked while it refreshes."""
        self._paused = folder / "paused"

    @classmethod
    def beside(cls, store: ResultStore) -> "RefreshState":
        """Return the notes about refreshes of a store's results."""
        return cls(store.root.parent / "refresh")

    def refusal(self, dataset: str, stage: str, key: str) -> str | None:
        """Return why a stage refused the inputs with this key, or None. With a damaged note, it is tried once more."""
        refused, _, why = _text(self._refusal(dataset, stage)).partition("\n")
        return why if refused == key and why else None

    def note_refusal(self, dataset: str, stage: str, key: str, why: str) -> None:
        """Record that a stage refused the inputs with this key."""
        self._write(self._refusal(dataset, stage), f"{key}\n{why}")

    def note_made(self, dataset: str, stage: str) -> None:
        """Forget that a stage refused inputs."""
        self._refusal(dataset, stage).unlink(missing_ok=True)

    def note_acted(self, dataset: str, *, until: datetime) -> None:
        """Record the time up to which the cron times of a dataset have been acted on."""
        self._write(self.folder / "acted" / dataset, "", time=until)

    def acted(self, dataset: str) -> datetime | None:
        """Return the time up to which the cron times of a dataset have been acted on, or None."""
        return _time(self.folder / "acted" / dataset)

    def pause(self, *, reason: str, now: datetime) -> None:
        """Pause all refreshes until `resume`."""
        self._write(self._paused, reason, time=now)

    def resume(self) -> bool:
        """End the pause; return whether there was one."""
        existed = self._paused.exists()
        self._paused.unlink(missing_ok=True)
        return existed

    def paused(self) -> str | None:
        """Return since when and why refreshes are paused, in words, or None if they are not."""
        since = _time(self._paused)
        if since is None:
            return None
        reason = _text(self._paused)
        words = f"refreshes are paused since {since:%Y-%m-%d %H:%M} UTC{f': {reason}' if reason else ''}"
        return f"{words}; `aflite resume` continues them"

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
        return self.folder / "refused" / dataset / stage

    def _write(self, file: Path, text: str, *, time: datetime | None = None) -> None:
        """Replace a file in one step; `time`: the file's time, by default now."""
        self.make_folder(file.parent)
        write_bytes(file, text.encode(errors="backslashreplace"))  # arguments and paths need not be UTF-8
        if time is not None:
            os.utime(file, (time.timestamp(), time.timestamp()))


def is_refusal(error: Exception) -> bool:
    """Return whether an error refuses inputs, and would refuse the same inputs again."""
    return isinstance(error, AfliteError) and error.refuses and not error.may_pass


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def _time(file: Path) -> datetime | None:
    return datetime.fromtimestamp(file.stat().st_mtime, UTC) if file.exists() else None
