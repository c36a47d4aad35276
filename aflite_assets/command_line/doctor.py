"""The command `aflite doctor`, which prints problems of the result store, the databases and the installation, with
remedies.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from aflite_assets.command_line.terminal import escaped, write_lines
from aflite_assets.errors import AfliteError, TrackingError
from aflite_assets.paths import aflite_home, dagster_home
from aflite_assets.results.doctor import Problem, examine_store
from aflite_assets.results.opening import open_store

_DOCTOR = """\
Finds problems: damaged results, leftover folders and locks of killed processes, invalid dataset files, failed stages
that refreshes do not retry, runs that Dagster shows as running although their process has ended, databases that need a
migration, packages with other versions than in constraints.txt, and more GPU slots than GPUs. Prints each problem with
a remedy. Exits with 1 if a problem remains.
"""


class UnfixedProblemsError(AfliteError):
    """Error for problems that `aflite doctor` found but did not fix."""


def add_command(commands: Any) -> None:
    """Add `doctor` to the command line's subparsers."""
    doctor = commands.add_parser("doctor", help="find and repair problems", description=_DOCTOR)
    fix = "repair without loss of data: set damaged results aside, remove what killed processes left, end dead runs"
    doctor.add_argument("--fix", action="store_true", help=fix)
    doctor.add_argument("--deep", action="store_true", help="compare the hashes of all files instead of the sizes")
    doctor.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> None:
    n_problems = left = 0
    for problem in problems(deep=options.deep, fix=options.fix):
        n_problems += 1
        left += not problem.mended
        state = "mended; " if problem.mended else ""
        write_lines(sys.stdout, [escaped(f"{problem.kind}: {problem.what} - {state}{problem.remedy}")])
    if not n_problems:
        write_lines(sys.stdout, ["nothing is wrong"])
    if left:
        raise UnfixedProblemsError(f"{left} of {n_problems} problems were not fixed")


def problems(*, deep: bool, fix: bool) -> Iterator[Problem]:
    """Yield all problems that `aflite doctor` finds, the most important problems first.

    Dagster's instance is checked if `DAGSTER_HOME` is set.
    """
    from aflite_assets.command_line.refresh_commands import look
    from aflite_assets.refresh.status import problems as problems_of_dataset
    from aflite_assets.specs.registry import load_registry

    store = open_store()
    yield from examine_store(store, deep=deep, fix=fix)
    for due in look(load_registry(made=store.datasets()), store):
        if due.plan.failure is not None or due.plan.begun or due.plan.in_state("left", "cancelled"):
            of = "" if due.plan.failure is not None else f"{due.plan.dataset}: "  # a message names the file
            yield from (replace(problem, what=f"{of}{problem.what}") for problem in problems_of_dataset(due.plan))
    yield from _tracking()
    if (home := dagster_home()) and home.is_dir():
        import torch

        from aflite_assets.automation.doctor import examine_instance

        yield from examine_instance(devices=torch.cuda.device_count(), fix=fix)
    yield from _packages()


def _tracking() -> Iterator[Problem]:
    from aflite_assets.tracking import MlflowTracker
    from aflite_assets.tracking.mlflow_session import pending_migration

    try:
        tracker = MlflowTracker(os.environ.get("MLFLOW_TRACKING_URI") or None, aflite_home())
        problem = pending_migration(tracker.session)
    except TrackingError as error:
        problem = str(error)
    if problem is not None:
        what, _, remedy = problem.partition("; ")
        yield Problem("MLflow's database", what, remedy)


def _packages() -> Iterator[Problem]:
    constraints = constraints_file()
    differing = {} if constraints is None else differing_packages(constraints)
    if differing:
        named = ", ".join(f"{name} {installed} (tested: {tested})" for name, (installed, tested) in differing.items())
        remedy = f"pip install -c {constraints} {' '.join(f'{name}=={pair[1]}' for name, pair in differing.items())}"
        yield Problem("packages", f"installed in other versions than in {constraints}: {named}", remedy)


def constraints_file() -> Path | None:
    """Return the path of `constraints.txt` beside the package or in the working directory, or None without a file."""
    places = (Path(__file__).parents[2] / "constraints.txt", Path("constraints.txt").absolute())
    return next((place for place in places if place.is_file()), None)


def differing_packages(constraints: Path) -> dict[str, tuple[str, str]]:
    """Return the installed packages whose version differs from the tested version, without local parts such as +cpu.

    The mapping is from package name to two versions, the installed version and the tested version.
    """
    differing = {}
    for line in constraints.read_text(encoding="utf-8").splitlines():
        name, _, tested = line.partition("#")[0].partition(";")[0].strip().partition("==")
        try:
            installed = version(name) if tested else ""
        except PackageNotFoundError:
            continue
        if installed.partition("+")[0] != tested.strip().partition("+")[0]:
            differing[name] = (installed, tested)
    return differing
