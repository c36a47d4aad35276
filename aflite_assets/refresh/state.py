"""State kept between refreshes below `AFLITE_HOME`: tries, looks at datasets, cron times acted on, the pause.

All is in `refresh/state.sqlite` except the pause, which is the file `refresh/paused.json`. Any number of processes
share both; deleting the folder loses only these notes.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aflite_assets.errors import StoreError
from aflite_assets.results import ResultStore
from aflite_assets.results.files import write_json

_TABLES = (
    # One row per run that tried, so that tries within one run count once.
    "CREATE TABLE IF NOT EXISTS tries (dataset TEXT, stage TEXT, key TEXT, run TEXT, at TEXT NOT NULL, error TEXT, "
    "PRIMARY KEY (dataset, stage, key, run))",
    "CREATE TABLE IF NOT EXISTS refused (dataset TEXT, stage TEXT, key TEXT, PRIMARY KEY (dataset, stage, key))",
    "CREATE TABLE IF NOT EXISTS reported (dataset TEXT, stage TEXT, key TEXT, PRIMARY KEY (dataset, stage, key))",
    # The row without a stage names the last cancelled run that was looked at, also where that left nothing to make.
    "CREATE TABLE IF NOT EXISTS cancelled (dataset TEXT, stage TEXT, key TEXT, run TEXT NOT NULL, "
    "PRIMARY KEY (dataset, stage, key))",
    # `stale` is empty: earlier versions of the project read it.
    "CREATE TABLE IF NOT EXISTS looks (dataset TEXT PRIMARY KEY, at TEXT NOT NULL, stale TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS acted (dataset TEXT PRIMARY KEY, until TEXT NOT NULL)",
)
_KEY = "dataset = ? AND stage = ? AND key = ?"


@dataclass(frozen=True)
class Tries:
    """How often a stage was begun for one key without a result, the last error, and whether a person was told.

    `refused`: the inputs were refused, so that no further try helps. `last`: when the last try failed, or began if
    its end was not recorded, in UTC. `cancelled`: id of the run that a person cancelled before it made the stage.
    """

    count: int = 0
    error: str | None = None
    reported: bool = False
    refused: bool = False
    last: datetime | None = None
    cancelled: str | None = None


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
        StoreError: by every method, where the folder or the database cannot be used.
    """

    folder: Path

    @classmethod
    def beside(cls, store: ResultStore) -> "RefreshState":
        """Return the notes about refreshes of a store's results."""
        return cls(store.root.parent / "refresh")

    def note_try(self, dataset: str, stage: str, key: str, *, run: str, now: datetime) -> None:
        """Count that a run begins to make a stage for a key; the same run counts once, however often it tries."""
        self._write("INSERT OR IGNORE INTO tries VALUES (?, ?, ?, ?, ?, NULL)", dataset, stage, key, run, _text(now))

    def note_error(
        self, dataset: str, stage: str, key: str, *, run: str, error: str, now: datetime, refused: bool = False
    ) -> None:
        """Record why and when a try failed; `refused`: because of inputs that are refused each time."""
        with self._opened() as connection:
            connection.execute(
                f"UPDATE tries SET error = ?, at = ? WHERE {_KEY} AND run = ?",
                (error, _text(now), dataset, stage, key, run),
            )
            if refused:
                connection.execute("INSERT OR IGNORE INTO refused VALUES (?, ?, ?)", (dataset, stage, key))

    def forget_try(self, dataset: str, stage: str, key: str, *, run: str) -> None:
        """Remove a try that does not count, such as one that a person stopped."""
        self._write(f"DELETE FROM tries WHERE {_KEY} AND run = ?", dataset, stage, key, run)

    def forget_tries(self, dataset: str, stage: str) -> None:
        """Remove the tries of every key of a stage, as after a success."""
        with self._opened() as connection:
            for table in ("tries", "refused", "reported", "cancelled"):
                connection.execute(f"DELETE FROM {table} WHERE dataset = ? AND stage = ?", (dataset, stage))

    def tries(self, dataset: str, stage: str, key: str) -> Tries:
        """Return the recorded tries of one key."""
        place = (dataset, stage, key)
        tries = self._read(f"SELECT error, at FROM tries WHERE {_KEY} ORDER BY at, rowid", *place)
        errors = [error for error, _ in tries if error is not None]
        marks = self._read(
            f"SELECT EXISTS (SELECT 1 FROM reported WHERE {_KEY}), EXISTS (SELECT 1 FROM refused WHERE {_KEY}), "
            f"(SELECT run FROM cancelled WHERE {_KEY})",
            *place * 3,
        )
        reported, refused, cancelled = marks[0] if marks else (False, False, None)
        return Tries(
            len(tries),
            errors[-1] if errors else None,
            reported=bool(reported),
            refused=bool(refused),
            last=datetime.fromisoformat(tries[-1][1]) if tries else None,
            cancelled=cancelled,
        )

    def keys_tried(self, dataset: str, *, run: str) -> dict[str, str]:
        """Return the keys that a run was to make or began to make, by stage, without those that it made."""
        return dict(self._read("SELECT stage, key FROM tries WHERE dataset = ? AND run = ?", dataset, run))

    def note_cancelled(self, dataset: str, keys: Mapping[str, str], *, run: str) -> None:
        """Record that a person cancelled a run, and the keys by stage that it did not make."""
        with self._opened() as connection:
            rows = [(dataset, stage, key, run) for stage, key in {"": "", **keys}.items()]
            connection.executemany("INSERT OR REPLACE INTO cancelled VALUES (?, ?, ?, ?)", rows)

    def cancelled_run(self, dataset: str) -> str | None:
        """Return the id of the last cancelled run that was recorded for a dataset, or None."""
        rows = self._read("SELECT run FROM cancelled WHERE dataset = ? AND stage = ''", dataset)
        return str(rows[0][0]) if rows else None

    def forget_cancelled(self, dataset: str) -> None:
        """Remove the keys of cancelled runs of a dataset, as after a person has started it."""
        self._write("DELETE FROM cancelled WHERE dataset = ? AND stage != ''", dataset)

    def tried(self) -> set[str]:
        """Return the datasets with a recorded try that had no result."""
        return {name for (name,) in self._read("SELECT DISTINCT dataset FROM tries")}

    def note_reported(self, dataset: str, stage: str, key: str) -> bool:
        """Record that a person was told that a key is left alone; returns whether this was the first time."""
        return self._write("INSERT OR IGNORE INTO reported VALUES (?, ?, ?)", dataset, stage, key) == 1

    def note_look(self, dataset: str, *, now: datetime) -> None:
        """Record that a dataset was planned."""
        self._write("INSERT OR REPLACE INTO looks VALUES (?, ?, '[]')", dataset, _text(now))

    def last_look(self, dataset: str) -> datetime | None:
        """Return when a dataset was last planned, in UTC, or None if it never was."""
        rows = self._read("SELECT at FROM looks WHERE dataset = ?", dataset)
        return datetime.fromisoformat(rows[0][0]) if rows else None

    def acted_until(self, dataset: str) -> datetime | None:
        """Up to when the cron times of a dataset have been acted on; None where none is recorded."""
        rows = self._read("SELECT until FROM acted WHERE dataset = ?", dataset)
        return datetime.fromisoformat(rows[0][0]) if rows else None

    def note_acted(self, dataset: str, *, until: datetime) -> None:
        """Record up to when the cron times of a dataset have been acted on."""
        self._write("INSERT OR REPLACE INTO acted VALUES (?, ?)", dataset, _text(until))

    def pause(self, *, reason: str, now: datetime) -> None:
        """Pause all refreshes until `resume`."""
        self.make_folder()
        write_json(self._pause_file, {"since": _text(now), "reason": reason})

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
            return Paused(
                datetime.fromtimestamp(0, UTC), f"{self._pause_file} cannot be read; `aflite resume` removes it"
            )

    def make_folder(self) -> None:
        """Make the folder of the notes where it is not there yet."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
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
    def _database(self) -> Path:
        return self.folder / "state.sqlite"

    @property
    def _pause_file(self) -> Path:
        return self.folder / "paused.json"

    def _read(self, query: str, *values: str) -> list[Any]:
        """Return the rows of a query; none, and no file is made, where nothing was noted yet."""
        if not self._database.is_file():
            return []
        with self._opened() as connection:
            return connection.execute(query, values).fetchall()

    def _write(self, statement: str, *values: str) -> int:
        """Execute one statement; returns the number of rows that it changed."""
        with self._opened() as connection:
            return connection.execute(statement, values).rowcount

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self.make_folder()
        try:
            with closing(sqlite3.connect(self._database, timeout=30)) as connection, connection:
                for table in _TABLES:
                    connection.execute(table)
                yield connection
        except sqlite3.Error as error:
            raise StoreError(
                f"notes about refreshes cannot be kept in {self._database} ({error}); make it writable, or delete it "
                "if it is damaged: only tries and times of looks are in it"
            ) from error


def _text(time: datetime) -> str:
    return time.astimezone(UTC).isoformat()
