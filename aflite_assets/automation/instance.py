"""The Dagster instance of `dagster.yaml`: one process at a time makes its SQLite files.

Dagster opens its instance before it loads our definitions, in every command, so the lock has to be in what it opens.
`dagster.yaml` names `AfliteInstance` as the instance's class; that gives SQLite's storage a lock unless the file names
another storage. A folder without our `dagster.yaml` is not covered: `aflite init` puts it there.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from filelock import FileLock

from aflite_assets.assets.dagster_internals import (
    ConfigurableClassData,
    DagsterSqliteStorage,
    InstanceRef,
)

SETTINGS = Path(__file__).with_name("dagster.yaml")
"""The settings that come with the project; the repository's `dagster.yaml` is a link to them."""

LOCK = ".first-contact.lock"
STALE_REVISION = "5771160a95ad"
"""The revision that Dagster enters in SQLite files that have tables and no revision."""
_LOCK_SECONDS = 300


def creation_lock(folder: Path) -> FileLock:
    """Return the lock under which an instance below `folder` is opened, since that may create its databases.

    Two processes that create one at once leave two revisions in it, and Dagster cannot open it any more.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / LOCK, timeout=_LOCK_SECONDS)


class LockedSqliteStorage(DagsterSqliteStorage):
    """Dagster's SQLite storage, opened by one process at a time. Only opening is locked, not its use."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        with creation_lock(Path(base_dir)):
            super().__init__(base_dir, inst_data)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> "LockedSqliteStorage":
        """Return the storage that an instance's settings describe."""
        return cls(inst_data=inst_data, **config_value)


class AfliteInstance(dg.DagsterInstance):
    """Dagster's instance whose storage, where `dagster.yaml` names none, is `LockedSqliteStorage`."""

    @classmethod
    def config_schema(cls) -> dict[str, Any]:
        """No settings beside Dagster's own."""
        return {}

    @staticmethod
    def config_defaults(base_dir: str) -> dict[str, ConfigurableClassData | None]:
        """Return the parts that Dagster uses where `dagster.yaml` names none."""
        storage = ConfigurableClassData(__name__, LockedSqliteStorage.__name__, yaml.safe_dump({"base_dir": base_dir}))
        return {**InstanceRef.config_defaults(base_dir), "storage": storage}


def prepare_instance(folder: Path) -> list[str]:
    """Make the instance in `folder` ready, once and by one process at a time; returns what was done, in words.

    Existing settings stay; where there are none, the project's own are copied. An instance that several processes
    created at once, with two revisions in a database, is mended (`mend_revisions`).
    """
    done = []
    with creation_lock(folder):
        if not (folder / SETTINGS.name).exists():
            shutil.copyfile(SETTINGS, folder / SETTINGS.name)
            done.append(f"{SETTINGS.name} copied")
        done += [f"{path.name} mended: made by two processes at once" for path in mend_revisions(folder)]
        ours = "AfliteInstance" in (folder / SETTINGS.name).read_text(encoding="utf-8")
        if not ours:
            dg.DagsterInstance.from_config(str(folder)).dispose()
    if ours:  # takes the lock itself
        dg.DagsterInstance.from_config(str(folder)).dispose()
    return [*done, "databases opened"]


def mend_revisions(folder: Path) -> list[Path]:
    """Take the older of two revisions out of SQLite files that two processes made at once; returns those mended.

    The second process finds tables without a revision, takes the file for one of an old version, and enters the old
    revision beside the newest, which the first process entered. From then on Dagster fails with "more than one head
    present", although the tables are the newest ones. Call it while nothing else uses the instance.
    """
    mended = []
    runs = sorted((folder / "history" / "runs").glob("*.db"))
    for path in [folder / "history" / "runs.db", *runs, folder / "schedules" / "schedules.db"]:
        if not path.is_file():
            continue
        with closing(sqlite3.connect(path)) as connection, connection:
            made = connection.execute("SELECT name FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
            revisions = connection.execute("SELECT version_num FROM alembic_version").fetchall() if made else []
            if len(revisions) > 1 and (STALE_REVISION,) in revisions:
                connection.execute("DELETE FROM alembic_version WHERE version_num = ?", (STALE_REVISION,))
                mended.append(path)
    return mended
