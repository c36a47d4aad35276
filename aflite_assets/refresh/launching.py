"""The command by which a person starts a dataset's run, as it works in the folder where it is printed."""

import os
import re
import shlex
from pathlib import Path

PLACEHOLDER = "NAME"
"""Stands for a dataset in a command that is about several."""

_VARIABLES = ("AFLITE_DATASETS", "AFLITE_HOME", "AFLITE_STORE", "DAGSTER_HOME")
_NEEDS_NO_QUOTES = re.compile(r"[\w./:-]*")


def launch_command(dataset: str) -> str:
    """Return the line for a shell that runs a dataset's whole benchmark, with the variables that are set here.

    `-m definitions` names the project's module, so that it works in any folder. Paths below this folder begin with
    `$PWD`.
    """
    variables = [f"{name}={_in_shell(value)}" for name in _VARIABLES if (value := os.environ.get(name))]
    return " ".join([*variables, "dg launch -m definitions --job benchmark --partition", dataset])


def for_dataset(command: str, dataset: str) -> str:
    """Return a text with a command about any dataset, about one of them."""
    return command.replace(f"--partition {PLACEHOLDER}", f"--partition {dataset}")


def _in_shell(value: str) -> str:
    here = str(Path.cwd())
    below = value.removeprefix(here)
    if value.startswith(here) and below[:1] in ("", "/", ":") and _NEEDS_NO_QUOTES.fullmatch(below) and here != "/":
        return f'"$PWD{below}"'
    return shlex.quote(value)
