"""The command `aflite list`, which prints the datasets and the invalid YAML files."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aflite_assets.command_line.terminal import escaped, one_line, table, write_lines

if TYPE_CHECKING:
    from aflite_assets.specs.registry import Registry

_LIST = """\
Lists the datasets in the folders of AFLITE_DATASETS, and the bundled datasets that have results. With --bundled, it
lists all bundled datasets; each can be run by its name. With AFLITE_BUNDLED=1, bundled datasets are listed everywhere,
including Dagster's pages. Exits with 1 if a file is invalid.
"""


def add_command(commands: Any) -> None:
    """Add `list` to the command line's subparsers."""
    parser = commands.add_parser("list", help="list the datasets", description=_LIST)
    parser.add_argument("--bundled", action="store_true", help="list the bundled datasets")
    parser.set_defaults(command=_list)


def _list(options: argparse.Namespace) -> int:
    from aflite_assets.results.opening import open_store
    from aflite_assets.specs.registry import bundled_registry, load_registry

    registry = bundled_registry() if options.bundled else load_registry(made=open_store().datasets())
    write_lines(sys.stdout, list(dataset_lines(registry)))
    write_lines(sys.stderr, [escaped(one_line(why)) for why in registry.failures.values()])
    return 1 if registry.failures else 0


def dataset_lines(registry: "Registry") -> Iterator[str]:
    """Yield the lines of a table of datasets with their titles and files.

    If there are no datasets, yield a hint on how to add one.
    """
    if not registry.specs:
        yield ("there are no datasets; set `AFLITE_DATASETS` to a folder of YAML files, or try `aflite list --bundled`")
        return
    rows = [
        (name, escaped(one_line(spec.title)), escaped(str(registry.files[name])))
        for name, spec in registry.specs.items()
    ]
    yield from table([("dataset", "title", "file"), *rows])
