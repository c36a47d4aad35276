"""The commands `aflite backup` and `aflite restore`, which copy results, MLflow's files and all databases while runs
continue.

A backup folder has this layout:

```
<folder>/results/..., artifacts/...    files that never change, shared by all backups in the folder
<folder>/<time>/databases/...          online copies of SQLite files, and dumps by pg_dump of PostgreSQL databases
<folder>/<time>/state/...              small files that change: pointers to current results, notes of refreshes
<folder>/<time>/backup.json            record of the finished backup, written last
```

Databases are copied first, then the state, then the results. Databases and state refer only to published results, and
published results never change. Because results are copied last, the backup contains all results that the copied
databases refer to.
"""

import argparse
import filecmp
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from aflite_assets.address_secrets import shown_value
from aflite_assets.command_line.terminal import escaped, write_lines
from aflite_assets.errors import InvalidInputError, StoreError
from aflite_assets.paths import aflite_home, dagster_home
from aflite_assets.results.damage import forget, own_damage
from aflite_assets.results.files import flush_folder, folder_files, folder_size, read_json, write_json
from aflite_assets.results.keys import is_digest
from aflite_assets.results.opening import open_store
from aflite_assets.results.records import MANIFEST, PublishedResult
from aflite_assets.results.store import ResultStore

_FORMAT = 1
_DONE = "backup.json"
_MLFLOW = Path("mlflow", "mlflow.db")
_MOST_NAMED = 5
"""Largest number of damaged results in the message. `aflite doctor` lists all of them."""
_OWNER = """\
select case when pg_has_role(datdba, 'member') then pg_get_userbyid(datdba) end
from pg_database where datname = current_database()
"""
"""Query for the owner of a database, if the current role is a member of the owner's role. Restored tables then belong
to the owner.
"""
_DATABASE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_DESCRIPTION = """\
{what} results, MLflow's files, records of refreshes, and databases. SQLite databases below AFLITE_HOME and
DAGSTER_HOME are found automatically. PostgreSQL databases are given by name; the connection uses PGHOST, PGPORT, PGUSER
and PGPASSWORD or ~/.pgpass.
"""


@dataclass(frozen=True)
class Places:
    """Locations of everything that a backup copies: the home folder, Dagster's home (or None), MLflow's files, and
    PostgreSQL databases.
    """

    home: Path
    dagster_home: Path | None
    artifacts: Path
    postgres: tuple[str, ...] = ()


@dataclass
class Copied:
    """Numbers of items that a backup or a restore copied.

    `already_there`: number of results that the target already contained. `size`: bytes. `damaged`: the results that
    were not copied, each with a description of the damage.
    """

    path: Path
    databases: list[str] = field(default_factory=list)
    results: int = 0
    already_there: int = 0
    size: int = 0
    damaged: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.path}: {len(self.databases)} databases, {self.results} results copied ({self.size / 1e6:.1f} MB), "
            f"{self.already_there} there already"
        )


def add_commands(commands: Any) -> None:
    """Add `backup` and `restore` to the command line's subparsers."""
    for name, what, run in (("backup", "Copy", _backup), ("restore", "Restore", _restore)):
        summary, description = f"{what.lower()} results and databases together", _DESCRIPTION.format(what=what)
        command = commands.add_parser(name, help=summary, description=description)
        command.set_defaults(command=run, name_of_command=name)
        command.add_argument("folder", metavar="FOLDER", type=Path, help="folder of the backups")
        postgres = "a PostgreSQL database; may be repeated"
        command.add_argument("--postgres", metavar="DATABASE", action="append", default=[], help=postgres)
        artifacts = "MLflow's files (default: AFLITE_HOME/mlflow/artifacts)"
        command.add_argument("--artifacts", metavar="FOLDER", type=Path, help=artifacts)
        if name == "restore":
            command.add_argument("--at", metavar="TIME", help="folder name of the backup (default: the newest backup)")


def _backup(options: argparse.Namespace) -> None:
    done = make_backup(options.folder.absolute(), _places(options))
    write_lines(sys.stdout, [escaped(f"backup {done}")])
    if done.damaged:
        raise StoreError(
            f"{len(done.damaged)} damaged results were not copied ({'; '.join(done.damaged[:_MOST_NAMED])}); run "
            "`aflite doctor --fix`, recompute these results with `aflite refresh`, and back up again"
        )


def _restore(options: argparse.Namespace) -> None:
    done = restore_backup(options.folder.absolute(), _places(options), at=options.at)
    unchanged = "the files of every result are unchanged since publication"
    write_lines(sys.stdout, [escaped(f"restored {done}; {unchanged}")])


def _places(options: argparse.Namespace) -> Places:
    for name in options.postgres:
        # PostgreSQL's programs take an address too, whose password would then be in the backup and in messages.
        if not _DATABASE.fullmatch(name):
            raise InvalidInputError(
                f"`--postgres` is {shown_value(name)}, which is not the name of a database; give the name alone "
                "(letters, digits and _ . -), and set host, user and password with `PGHOST`, `PGUSER` and ~/.pgpass"
            )
    open_store().needs_folder(
        f"aflite {options.name_of_command}",
        instead="copy the bucket and the databases with the tools of their servers, such as versioning and "
        "replication (docs/object_store.md)",
    )
    home = aflite_home()
    artifacts = options.artifacts.absolute() if options.artifacts else home / "mlflow" / "artifacts"
    return Places(home, dagster_home(), artifacts, tuple(options.postgres))


def make_backup(folder: Path, places: Places) -> Copied:
    """Copy everything in `places` into a new backup below `folder`. Dagster runs may continue while the backup is made.

    Damaged results are not copied, so they cannot replace intact copies from an earlier backup.

    Raises:
        StoreError: a database cannot be copied, or the folder cannot be written.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    copied = Copied(folder / stamp)
    try:
        copied.path.mkdir(parents=True)
        copied.databases = _copy_databases(copied.path / "databases", places)
        results = places.home / "results"
        (results / ".locks").mkdir(parents=True, exist_ok=True)
        # `aflite prune` takes the same lock: nothing goes between naming a result and copying it.
        with FileLock(results / ".locks" / ".prune.lock"):
            for path in _state_files(places.home):
                _copy_file(path, copied.path / "state" / path.relative_to(places.home))
            for result in _published(results):
                if wrong := own_damage(result):
                    copied.damaged.append(f"{result.path}: {'; '.join(wrong)}")
                else:
                    _copy_result(result, folder / "results" / result.path.relative_to(results), copied)
        _copy_changed(places.artifacts, folder / "artifacts")
        flush_folder(copied.path)
        facts = {"format": _FORMAT, "time": stamp, "databases": copied.databases, "home": str(places.home)}
        write_json(copied.path / _DONE, facts)
    except OSError as error:
        raise StoreError(
            f"the backup {copied.path} could not be completed ({error}); free disk space or choose another folder"
        ) from error
    return copied


def restore_backup(folder: Path, places: Places, *, at: str | None = None) -> Copied:
    """Check the content of every result in a backup, and restore the backup into empty folders and databases.

    Raises:
        StoreError: the backup does not exist, a target is not empty, or the content of a result differs from its
            manifest.
    """
    backup = _chosen(folder, at)
    copied = Copied(backup, _databases_of(backup))
    _check_empty(places, copied.databases)
    stored, results = folder / "results", places.home / "results"
    published = _published(stored)
    for result in published:  # all before the first is copied: what is refused leaves the places empty
        if wrong := own_damage(result, ignore_cache=True):
            raise StoreError(
                f"{result.path} is damaged in the backup ({'; '.join(wrong)}); delete this result from the backup, "
                "restore, and materialise the result again"
            )
    for result in published:
        _copy_result(result, results / result.path.relative_to(stored), copied)
    _copy_changed(folder / "artifacts", places.artifacts)
    # The state comes last: after a restore that is killed it names no result that is not there.
    _copy_changed(backup / "state", places.home)
    _restore_databases(backup / "databases", places)
    return copied


def _chosen(folder: Path, at: str | None) -> Path:
    finished = sorted(path.parent for path in folder.glob(f"*/{_DONE}"))
    chosen = [path for path in finished if at in (None, path.name)]
    if not chosen:
        wanted = "no finished backup" if at is None else f"no finished backup {at!r}"
        raise StoreError(
            f"there is {wanted} in {folder} (the finished backups are {[path.name for path in finished]}); name "
            "another folder"
        )
    return chosen[-1]


def _databases_of(backup: Path) -> list[str]:
    """Return the file names of the databases in a finished backup.

    Raises:
        StoreError: the file `backup.json` is damaged or has an unknown format.
    """
    try:
        facts = read_json(backup / _DONE)
        written, databases = facts["format"], list(facts["databases"])
        if not all(isinstance(name, str) for name in databases):
            raise TypeError("a database name is not a string")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{backup / _DONE} cannot be read ({error}); choose another backup with `--at`") from None
    if written != _FORMAT:
        raise StoreError(
            f"the backup {backup} has the unknown format {written!r}; restore the backup with the version of "
            "aflite-assets that wrote it"
        )
    return databases


def _sqlite_files(places: Places) -> dict[str, Path]:
    """Map the path in the backup to the path on this machine for each SQLite database."""
    dagster, mlflow = places.dagster_home, places.home / _MLFLOW
    found = (
        [] if dagster is None else [(f"dagster/{path.relative_to(dagster)}", path) for path in dagster.rglob("*.db")]
    )
    return dict(sorted(found)) | ({mlflow.name: mlflow} if mlflow.is_file() else {})


def _copy_databases(target: Path, places: Places) -> list[str]:
    files, dumps = _sqlite_files(places), [f"{name}.dump" for name in places.postgres]
    target.mkdir(parents=True)
    for name, path in files.items():
        copy_to = target / name
        copy_to.parent.mkdir(parents=True, exist_ok=True)
        try:
            with (
                closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=60)) as source,
                closing(sqlite3.connect(copy_to)) as copy,
            ):
                source.backup(copy)
        except sqlite3.Error as error:
            raise StoreError(
                f"the database {path} cannot be copied ({error}); check that the database is not damaged or locked by "
                "another program"
            ) from error
    for name, dump in zip(places.postgres, dumps, strict=True):
        _run("pg_dump", "--format=custom", f"--file={target / dump}", f"--dbname={name}")
    return [*files, *dumps]


def _restore_databases(stored: Path, places: Places) -> None:
    for name, path in folder_files(stored).items():
        if name.startswith("dagster/") and places.dagster_home is not None:
            _copy_file(path, places.dagster_home / Path(name).relative_to("dagster"))
        elif name == _MLFLOW.name:
            _copy_file(path, places.home / _MLFLOW)
    for name in places.postgres:
        owner = _run("psql", "-Atc", _OWNER, f"--dbname={name}").strip()
        options = ["--no-owner", "--exit-on-error", "--single-transaction", *([f"--role={owner}"] if owner else [])]
        _run("pg_restore", *options, f"--dbname={name}", str(stored / f"{name}.dump"))


def _check_empty(places: Places, databases: Sequence[str]) -> None:
    dumps = {name.removesuffix(".dump") for name in databases if name.endswith(".dump")}
    if dumps != set(places.postgres):
        raise StoreError(
            f"the backup contains the PostgreSQL databases {sorted(dumps)}, but `--postgres` names "
            f"{sorted(places.postgres)}; name exactly the databases in the backup"
        )
    if any(name.startswith("dagster/") for name in databases) and places.dagster_home is None:
        raise StoreError(
            "the backup contains Dagster's databases, but `DAGSTER_HOME` is not set; set `DAGSTER_HOME` to the folder "
            "to restore them to"
        )
    filled = [path for path in (places.home / "results", places.artifacts) if path.is_dir() and any(path.iterdir())]
    filled += list(_sqlite_files(places).values())
    count = "select count(*) from information_schema.tables where table_schema = 'public'"
    named = [name for name in places.postgres if _run("psql", "-Atc", count, f"--dbname={name}").strip() != "0"]
    if filled or named:
        raise StoreError(
            f"restoring would overwrite {', '.join([*map(str, filled), *named])}; move these files or databases away, "
            "or restore to another place"
        )


def _run(program: str, *arguments: str) -> str:
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise StoreError(
            f"the program `{program}` is not on the `PATH`; install PostgreSQL's client programs"
        ) from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["without a word"]
        raise StoreError(
            f"the program `{program}` failed ({lines[-1]}); check `PGHOST`, `PGPORT`, `PGUSER` and the name of the "
            "database"
        )
    return done.stdout


def _state_files(home: Path) -> Iterator[Path]:
    """Yield the small files in `results` and `refresh` that change in place.

    Folders of published results and hidden folders (locks, work, trash) are skipped.
    """
    for top in ("results", "refresh"):
        walked: set[str] = set()
        for folder, names, files in os.walk(home / top, followlinks=True):  # folders may lie on other disks
            kept = [name for name in names if not name.startswith(".") and not is_digest(name)]
            names[:] = [name for name in kept if os.path.realpath(os.path.join(folder, name)) not in walked]
            walked |= {os.path.realpath(os.path.join(folder, name)) for name in names}
            yield from (Path(folder, name) for name in files if not name.startswith("."))


def _published(results: Path) -> list[PublishedResult]:
    """Return every published result and every published part of a result, including damaged results."""
    store = ResultStore(results)
    return [result for asset, partition, _ in store.partitions() for result in store.published(asset, partition)]


def _copy_result(result: PublishedResult, target: Path, copied: Copied) -> None:
    """Copy a published folder completely or not at all.

    If the target already is a copy with the same manifest, nothing is copied.
    """
    if target.exists():
        there = target / MANIFEST
        if there.is_file() and there.read_bytes() == (result.path / MANIFEST).read_bytes():
            copied.already_there += 1
            return
        # A damaged result was made again under its key, so the older copy is replaced.
        shutil.rmtree(target)
        forget(replace(result, folder=target))
    aside = target.with_name(f".{target.name}.copying")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(result.path, aside)
    flush_folder(aside)
    copied.size += folder_size(aside)
    aside.rename(target)
    copied.results += 1


def _copy_changed(folder: Path, target: Path) -> None:
    """Copy the files that are missing in the target or differ there."""
    for name, path in folder_files(folder).items():
        if not (target / name).exists() or not filecmp.cmp(path, target / name):
            _copy_file(path, target / name)


def _copy_file(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, target)
