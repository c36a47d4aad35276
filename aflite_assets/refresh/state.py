"""State kept between refreshes below `AFLITE_HOME`: stages left alone, cron times acted on, the last check, the pause.

A JSON file per dataset, and one for the pause. Any number of processes share them; deleting the folder loses only these
notes.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock

from aflite_assets.errors import AfliteError, StoreError
from aflite_assets.results import ResultStore
from aflite_assets.results.files import write_json

INCOMPLETE = "its result lacks parts that failed"
MOST_TRIES = 3
"""Failures of one stage for one key, refusals apart; then the stage is left alone until its key changes."""


@dataclass(frozen=True)
class Left:
    """Why a stage has no result for a key: its inputs were refused, it failed so many times, or a run was cancelled."""

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
    """Notes about one dataset: stages without a result, up to when cron times were acted on, the last run noted."""

    left: dict[str, Left] = field(default_factory=dict)
    acted: str | None = None
    run: str | None = None


@dataclass(frozen=True)
class Paused:
    """Since when all refreshes are paused, in UTC, and why."""

    since: datetime
    reason: str

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"refreshes are paused since {self.since.astimezone(UTC):%Y-%m-%d %H:%M} UTC{reason}"


@dataclass(frozen=True)
class RefreshState:
    """The notes in one folder. Times are given with a time zone.

    Raises:
        StoreError: by every method, if the folder or a file cannot be used.
    """

    folder: Path

    @classmethod
    def beside(cls, store: ResultStore) -> "RefreshState":
        """Return the notes about refreshes of a store's results."""
        return cls(store.root.parent / "refresh")

    def notes(self, dataset: str) -> Notes:
        """Return the notes about a dataset."""
        file = self._file(dataset)
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            left = {stage: Left(**fields) for stage, fields in content.pop("left").items()}
            return Notes(left, **content)
        except FileNotFoundError:
            return Notes()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(
                f"notes about refreshes cannot be read from {file} ({error}); make it readable, or delete it if it is "
                "damaged: only stages left alone and times are in it"
            ) from error

    def left(self, dataset: str, stage: str, key: str) -> Left | None:
        """Return why a stage has no result for a key, or None if it was not tried for that."""
        left = self.notes(dataset).left.get(stage)
        return left if left is not None and left.key == key else None

    def note_failure(self, dataset: str, stage: str, key: str, error: str, *, is_refused: bool) -> None:
        """Record that a stage failed for a key, and whether it would fail each time."""
        with self._changing(dataset) as notes:
            before = notes.left.get(stage)
            tries = 1 + (before.tries if before is not None and before.key == key else 0)
            notes.left[stage] = Left(key, "refused" if is_refused else "failed", error, tries)

    def note_made(self, dataset: str, stage: str) -> None:
        """Forget that a stage was left alone."""
        if stage in self.notes(dataset).left:
            with self._changing(dataset) as notes:
                notes.left.pop(stage, None)

    def note_run(self, dataset: str, run: str, left: Mapping[str, Left]) -> None:
        """Record that a run ended without success, and the stages that are left because of that."""
        with self._changing(dataset) as notes:
            notes.run = run
            notes.left.update(left)

    def forget_run(self, dataset: str) -> None:
        """Forget the run that ended without success and what was left, as after a person has started the dataset."""
        with self._changing(dataset) as notes:
            notes.run = None
            notes.left = {stage: left for stage, left in notes.left.items() if left.kind == "refused"}

    def acted_until(self, dataset: str) -> datetime | None:
        """Up to when the cron times of a dataset have been acted on; None if none is recorded."""
        acted = self.notes(dataset).acted
        return None if acted is None else datetime.fromisoformat(acted)

    def note_acted(self, dataset: str, *, until: datetime) -> None:
        """Record up to when the cron times of a dataset have been acted on."""
        with self._changing(dataset) as notes:
            notes.acted = until.astimezone(UTC).isoformat()

    def datasets(self) -> set[str]:
        """Return the datasets with a stage that has no result."""
        return {file.stem for file in self.folder.glob("datasets/*.json") if self.notes(file.stem).left}

    def note_check(self, *, now: datetime) -> None:
        """Record that all datasets were planned."""
        self.make_folder()
        self._checked.touch()
        os.utime(self._checked, (now.timestamp(), now.timestamp()))

    def last_check(self) -> datetime | None:
        """Return when all datasets were last planned, in UTC, or None if they never were."""
        return datetime.fromtimestamp(self._checked.stat().st_mtime, UTC) if self._checked.exists() else None

    def pause(self, *, reason: str, now: datetime) -> None:
        """Pause all refreshes until `resume`."""
        self.make_folder()
        write_json(self._pause_file, {"since": now.astimezone(UTC).isoformat(), "reason": reason})

    def resume(self) -> bool:
        """End the pause; returns whether there was one."""
        existed = self._pause_file.exists()
        self._pause_file.unlink(missing_ok=True)
        return existed

    def paused(self) -> Paused | None:
        """Return the pause, or None. A file that cannot be read pauses too: somebody put it there."""
        try:
            content = json.loads(self._pause_file.read_text(encoding="utf-8"))
            return Paused(datetime.fromisoformat(content["since"]), str(content["reason"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            why = f"{self._pause_file} cannot be read; `aflite resume` removes it"
            return Paused(datetime.fromtimestamp(0, UTC), why)

    def make_folder(self) -> None:
        """Make the folder of the notes if it does not exist."""
        try:
            (self.folder / "datasets").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"notes about refreshes cannot be kept in {self.folder} ({error.strerror}); make it writable or set "
                "AFLITE_HOME"
            ) from error

    @property
    def lock(self) -> Path:
        """The file that a command holds locked while it refreshes."""
        return self.folder / "refresh.lock"

    @property
    def _pause_file(self) -> Path:
        return self.folder / "paused.json"

    @property
    def _checked(self) -> Path:
        return self.folder / "checked"

    def _file(self, dataset: str) -> Path:
        return self.folder / "datasets" / f"{dataset}.json"

    @contextmanager
    def _changing(self, dataset: str) -> Iterator[Notes]:
        """Yield the notes about a dataset, locked until the block ends; then they are written."""
        self.make_folder()
        with FileLock(self.folder / ".notes.lock"):
            notes = self.notes(dataset)
            yield notes
            content: dict[str, Any] = asdict(notes)
            write_json(self._file(dataset), content)


def is_refusal(error: Exception) -> bool:
    """Whether an error is about inputs that would be refused each time."""
    return isinstance(error, AfliteError) and error.refuses and not error.may_pass
