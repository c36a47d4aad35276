"""Arguments shared by `aflite scan` and `aflite fix`, and the conversion of parsed arguments to a command line."""

import argparse
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Any

from aflite_assets.command_line.terminal import escaped_lines, write_lines
from aflite_assets.errors import AfliteError

REFUSED = 2
"""Exit code of a file that is refused: nothing is known of it. Wrong usage has the same."""

_MANY = ("text", "irrelevant", "skip")
_ONE = ("label", "group", "subset", "delimiter", "encoding", "seed")
_DEFAULTS: Mapping[str, object] = {"encoding": "utf-8", "seed": 0}


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the argument FILE and the options for reading and scanning the file."""
    parser.add_argument(
        "file", metavar="FILE", help="a dataset's YAML file or its name, a table file or a folder of images"
    )
    parser.add_argument("--label", metavar="COLUMN", help="the column of labels of a table file (default: label)")
    parser.add_argument(
        "--text",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column of texts; may be repeated (default: guessed)",
    )
    parser.add_argument("--group", metavar="COLUMN", help="a column with equal values for rows that belong together")
    parser.add_argument(
        "--subset",
        metavar="COLUMN",
        help="preferences and questions: a column whose values are also scored separately, such as a batch",
    )
    parser.add_argument(
        "--irrelevant", metavar="COLUMN", action="append", default=[], help="a column that is no part of the task"
    )
    parser.add_argument(
        "--skip", metavar="COLUMN", action="append", default=[], help="a column to leave out of the scan"
    )
    parser.add_argument(
        "--delimiter", metavar="SIGN", help="character between the columns of a CSV file (default: guessed)"
    )
    parser.add_argument("--encoding", default="utf-8", help="text encoding of a table file (default: utf-8)")
    parser.add_argument(
        "--seed", type=int, default=0, help="random seed for splitting the rows into halves (default: 0)"
    )


def options_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_input_arguments` that differ from the defaults, by name."""
    named = {name: getattr(options, name) for name in (*_ONE, *_MANY)}
    return {name: value for name, value in named.items() if value not in (None, [], _DEFAULTS.get(name))}


def with_options(options: argparse.Namespace, given: Mapping[str, Any]) -> argparse.Namespace:
    """Return the arguments with the options in `given`, and with defaults for all other options of
    `add_input_arguments`.
    """
    default = {**dict.fromkeys(_ONE), **{name: [] for name in _MANY}, **_DEFAULTS}
    return argparse.Namespace(**{**vars(options), **default, **given})


def run_or_refuse(work: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a command and return its exit code. If the input is refused, print the reason and return `REFUSED`."""
    try:
        return work(options)
    except AfliteError as error:
        said = str(error)
    except PermissionError as error:
        said = f"{error.filename} cannot be used ({error.strerror}); make it readable, or run as its owner"
    write_lines(sys.stderr, [escaped_lines(said)])
    return REFUSED


def command_of(name: str, options: argparse.Namespace) -> str:
    """Return the command line `aflite NAME FILE` with the given options, quoted for a shell."""
    words = ["aflite", name, options.file]
    for option, value in options_of(options).items():
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{option}", str(one)]
    return shlex.join(words)
