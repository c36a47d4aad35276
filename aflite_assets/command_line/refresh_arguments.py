"""Arguments of `aflite plan`, `refresh`, `pause`, `resume` and `status`; the work is in `refresh_commands`."""

import argparse
from functools import partial
from typing import Any

_PLAN = """\
Prints for every stage of every dataset whether its result is found or would be made, why, and how long the computation
took last time; below that, what a refresh would do about each dataset now. Nothing is made. Exits with 1 if a dataset's
file or a stage is refused, or if a stage failed and is not retried.
"""
_REFRESH = """\
Makes the due stages in this process, by one Dagster run per dataset; suits system cron, and needs no server. A stage is
due if an input has changed. A stage that was never made is due only if the dataset is named here, or if its file
contains refresh: {start: true}. A stage that failed is tried again; a stage that refused its inputs, or whose run was
cancelled, is not. If a result is the same as before, later stages are not made again. Exits with 0 if all due stages
succeeded (a stage whose run was cancelled is not due), 1 if a stage failed or was refused, or if no dataset with
results here has a file, 3 if refreshes are paused or another refresh is active, 4 if a file was still being written or
the dataset is being run.
"""
_PAUSE = "Stops all refreshes, those of Dagster's sensor too, until `aflite resume`. Active runs continue."
_STATUS = """\
Lists the datasets, those that need a person first: when each was last made, the state of each stage, and the size of
its results on the disk. Lines below the table give the reasons.
"""


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers."""
    plan = _add(commands, "plan", "print what a refresh would make, and why", _PLAN)
    refresh = _add(commands, "refresh", "make what changed", _REFRESH)
    pause = _add(commands, "pause", "stop all refreshes", _PAUSE)
    _add(commands, "resume", "continue refreshes", "Ends `aflite pause`.")
    status = _add(commands, "status", "print the state of every dataset", _STATUS)
    for parser in (plan, refresh, status):
        parser.add_argument("names", metavar="NAME", nargs="*", help="datasets (default: all)")
    for parser in (plan, status):
        parser.add_argument("--json", action="store_true", help="print JSON")
    refresh.add_argument("--now", action="store_true", help="ignore cron, and retry what was refused or cancelled")
    settle = "seconds without a change after which a changed file is used (default: 5)"
    refresh.add_argument("--settle", type=float, default=5.0, metavar="SECONDS", help=settle)
    refresh.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="device of models")
    refresh.add_argument("--no-tracking", dest="tracking", action="store_false", help="store nothing in MLflow")
    pause.add_argument("--reason", default="", help="text that plan, refresh and status print")


def _add(commands: Any, name: str, summary: str, description: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=description)
    parser.set_defaults(command=partial(_run, name))
    return parser


def _run(name: str, options: argparse.Namespace) -> int | None:
    # Imported here, because numpy and pyarrow take a second that --help need not wait for.
    from aflite_assets.command_line import refresh_commands

    code: int | None = getattr(refresh_commands, f"run_{name}")(options)
    return code
