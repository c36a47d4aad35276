"""The command `aflite init`, which creates the home folder, MLflow's database and the Dagster instance."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from aflite_assets.command_line.terminal import escaped, write_lines
from aflite_assets.errors import StoreError
from aflite_assets.paths import aflite_home

_INIT = """\
Creates the folder AFLITE_HOME and MLflow's database in it. If DAGSTER_HOME or --dagster-home is set, it also creates
the Dagster instance in that folder, with the project's dagster.yaml unless the folder has one. Otherwise, the first run
would create these files. The command may run at the same time as other commands and runs. Existing files are kept, so
running the command again is harmless.
"""


def add_command(commands: Any) -> None:
    """Add `init` to the command line's subparsers."""
    parser = commands.add_parser("init", help="create the home folder and the Dagster instance", description=_INIT)
    parser.add_argument("--dagster-home", metavar="FOLDER", help="the Dagster instance (default: DAGSTER_HOME)")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> None:
    """Create the home folder and, if a folder for it is given, the Dagster instance.

    Raises:
        StoreError: a folder cannot be written.
        TrackingError: MLflow's database cannot be created.
    """
    from aflite_assets.tracking import MlflowTracker

    home = aflite_home()
    _make(home, "AFLITE_HOME")
    database = home / "mlflow" / "mlflow.db"
    made = "" if database.exists() else " (made)"
    _ = MlflowTracker(None, home).session.client  # connecting makes the database, under a lock of its own
    dagster = "DAGSTER_HOME is not set, so Dagster's history of each command is temporary; results are kept"
    if folder := options.dagster_home or os.environ.get("DAGSTER_HOME"):
        dagster = prepare_dagster_home(folder)
    said = (f"home: {home}", f"MLflow's database: {database}{made}", f"Dagster: {dagster}")
    write_lines(sys.stdout, map(escaped, said))


def prepare_dagster_home(folder: str) -> str:
    """Create or update the Dagster instance in a folder. Return the folder, with phrases that describe the changes.

    Raises:
        StoreError: the folder cannot be written.
    """
    from aflite_assets.automation.instance import prepare_instance

    path = Path(folder).expanduser().absolute()
    _make(path, "DAGSTER_HOME")
    return f"{path} ({', '.join(prepare_instance(path))})"


def _make(folder: Path, variable: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder {folder} cannot be created ({error.strerror}); make its parent folder writable, or set "
            f"`{variable}` to another folder"
        ) from error
