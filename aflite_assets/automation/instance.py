"""The class of the Dagster instance, which lets only one process at a time create the SQLite databases.

Every command of Dagster opens the instance before it loads the definitions, so the lock must be part of the instance.
The shipped `dagster.yaml` names the class `AfliteInstance`. `aflite init` copies this file into `DAGSTER_HOME`; without
the file there is no lock.
"""

import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from filelock import FileLock

from aflite_assets.assets.dagster_internals import ConfigurableClassData, DagsterSqliteStorage, InstanceRef

SETTINGS = Path(__file__).with_name("dagster.yaml")
"""The shipped settings; the repository's `dagster.yaml` is a link to this file."""

LOCK = ".first-contact.lock"
_LOCK_SECONDS = 300


def creation_lock(folder: Path) -> FileLock:
    """Return the lock that a process holds while it opens the instance in `folder`, which may create databases.

    If two processes create a database at once, it has two revisions, and Dagster can no longer open it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / LOCK, timeout=_LOCK_SECONDS)


class LockedSqliteStorage(DagsterSqliteStorage):
    """Dagster's SQLite storage, which one process at a time can open and many processes can use."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        with creation_lock(Path(base_dir)):
            super().__init__(base_dir, inst_data)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> "LockedSqliteStorage":
        """Return the storage for an instance's settings."""
        return cls(inst_data=inst_data, **config_value)


class AfliteInstance(dg.DagsterInstance):
    """Dagster's instance with `LockedSqliteStorage`, unless `dagster.yaml` names another storage."""

    @classmethod
    def config_schema(cls) -> dict[str, Any]:
        """Return no settings in addition to Dagster's."""
        return {}

    @staticmethod
    def config_defaults(base_dir: str) -> dict[str, ConfigurableClassData | None]:
        """Return the parts of the instance that Dagster uses if `dagster.yaml` does not name them."""
        storage = ConfigurableClassData(__name__, LockedSqliteStorage.__name__, yaml.safe_dump({"base_dir": base_dir}))
        return {**InstanceRef.config_defaults(base_dir), "storage": storage}


def prepare_instance(folder: Path) -> list[str]:
    """Prepare the instance in `folder`, by one process at a time, and return what was done, in words.

    The shipped settings are copied unless the folder has settings.
    """
    done = ["databases opened"]
    with creation_lock(folder):
        if not (folder / SETTINGS.name).exists():
            shutil.copyfile(SETTINGS, folder / SETTINGS.name)
            done.insert(0, f"{SETTINGS.name} copied")
    dg.DagsterInstance.from_config(str(folder)).dispose()
    return done
