"""The shell command that starts a run of a dataset from the current folder."""

import os
import re
import shlex
from pathlib import Path

PLACEHOLDER = "NAME"
"""Placeholder for the name of a dataset in a command for several datasets."""

_VARIABLES = ("AFLITE_DATASETS", "AFLITE_HOME", "AFLITE_STORE", "DAGSTER_HOME")
_NEEDS_NO_QUOTES = re.compile(r"[\w./:-]*")


def launch_command(dataset: str) -> str:
    """Return the shell command that runs all stages of a dataset, with this process's environment variables.

    The command works in any folder, because it names the module `definitions`. In the variables, paths below the
    current folder begin with `$PWD`.
    """
    variables = [f"{name}={_in_shell(value)}" for name in _VARIABLES if (value := os.environ.get(name))]
    return " ".join([*variables, "dg launch -m definitions --job benchmark --partition", dataset])


def for_dataset(command: str, dataset: str) -> str:
    """Return the text with `PLACEHOLDER` in its command replaced by the name of a dataset."""
    return command.replace(f"--partition {PLACEHOLDER}", f"--partition {dataset}")


def _in_shell(value: str) -> str:
    here = str(Path.cwd())
    below = value.removeprefix(here)
    if value.startswith(here) and below[:1] in ("", "/", ":") and _NEEDS_NO_QUOTES.fullmatch(below) and here != "/":
        return f'"$PWD{below}"'
    return shlex.quote(value)
