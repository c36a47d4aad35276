"""The command `aflite`: its arguments and its exit codes."""

import argparse
import signal
import sys
from collections.abc import Sequence

from aflite_assets.command_line import backup, compare, doctor, init, prune, push, serve, web
from aflite_assets.command_line import refresh_arguments as refreshing
from aflite_assets.command_line.fixing import command as fix
from aflite_assets.command_line.scanning import command as scan
from aflite_assets.command_line.specs_by_name import spec_of
from aflite_assets.command_line.terminal import escaped, escaped_lines, table, write_lines
from aflite_assets.errors import AfliteError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.paths import configure_libraries
from aflite_assets.results.opening import open_store
from aflite_assets.text import one_line

REFUSED = 1
"""Exit code after an error such as an invalid file. Success is 0, and wrong arguments are 2."""
INTERRUPTED = 128 + signal.SIGINT
"""Exit code of a command that was stopped with Ctrl-C, as in shells."""

_CHECK = """\
Reads a dataset's YAML file and its data, and prints a summary: rows, classes, challenge sets, sizes, and the
estimated cost of a run on this machine. No results are published and no models are saved. Large hub datasets and large
image folders are read only in part. Exits with 1 and a message if there is an error in the file, the data or the plan.
"""

_SCHEMA = """\
Writes the JSON Schema of dataset files, for editors that complete and check YAML. To use the schema, write
`# yaml-language-server: $schema=<file>` in the first line of a dataset's file.
"""

_LIST = """\
Lists the datasets in the folders of AFLITE_DATASETS, and the bundled datasets that have results. With --bundled, it
lists all bundled datasets; each can be run by its name. With AFLITE_BUNDLED=1, bundled datasets are listed everywhere,
including Dagster's pages. Exits with 1 if a file is invalid.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    `arguments`: the arguments of the command (by default, those of the process).

    Raises:
        SystemExit: the arguments are wrong (exit code 2), or they contain `--help` (exit code 0).
    """
    options = command_parser().parse_args(arguments)
    configure_libraries()
    try:
        code: int | None = options.command(options)
    except AfliteError as error:
        write_lines(sys.stderr, [escaped_lines(str(error))])
        return REFUSED
    except PermissionError as error:
        remedy = "make the file and its folder writable, or run the command as their owner"
        write_lines(sys.stderr, [escaped_lines(f"{error.filename} cannot be used ({error.strerror}); {remedy}")])
        return REFUSED
    except KeyboardInterrupt:
        write_lines(sys.stderr, ["stopped; finished work is kept, and the same command continues"])
        return INTERRUPTED
    return code or 0


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, from which the reference page of the commands is generated too."""
    parser = argparse.ArgumentParser("aflite", description="Command-line tools for filtering datasets with AFLite.")
    commands = parser.add_subparsers(required=True, metavar="command")
    check = commands.add_parser("check", help="check a dataset's file and estimate a run's cost", description=_CHECK)
    check.add_argument("file", metavar="FILE", help="a dataset's YAML file, or the name of a registered dataset")
    check.add_argument("--no-timing", action="store_true", help="skip the measurements and the estimate")
    device = "device on which models are measured (default: auto)"
    check.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help=device)
    check.set_defaults(command=_check)
    schema = commands.add_parser("schema", help="write the JSON Schema of dataset files", description=_SCHEMA)
    schema.set_defaults(command=_schema)
    scan.add_command(commands)
    fix.add_command(commands)
    listing = commands.add_parser("list", help="list the datasets", description=_LIST)
    listing.add_argument("--bundled", action="store_true", help="list the bundled datasets")
    listing.set_defaults(command=_list)
    refreshing.add_commands(commands)
    prune.add_commands(commands)
    push.add_command(commands)
    doctor.add_command(commands)
    serve.add_commands(commands)
    compare.add_command(commands)
    web.add_command(commands)
    backup.add_commands(commands)
    init.add_command(commands)
    return parser


def _check(options: argparse.Namespace) -> None:
    spec = spec_of(options.file)
    # Imported here: libraries must be prepared first, and neither --help nor a missing file need wait for them.
    from aflite_assets.command_line.preview.check import check

    check(spec, device=None if options.no_timing else DeviceSettings(options.device))


def _list(options: argparse.Namespace) -> int:
    from aflite_assets.specs.registry import bundled_registry, load_registry

    registry = bundled_registry() if options.bundled else load_registry(made=open_store().datasets())
    titles = {name: escaped(one_line(spec.title)) for name, spec in registry.specs.items()}
    rows = [(name, title, escaped(str(registry.files[name]))) for name, title in titles.items()]
    none = "there are no datasets; set `AFLITE_DATASETS` to a folder of YAML files, or try `aflite list --bundled`"
    write_lines(sys.stdout, table([("dataset", "title", "file"), *rows]) if rows else [none])
    write_lines(sys.stderr, [escaped(one_line(why)) for why in registry.failures.values()])
    return 1 if registry.failures else 0


def _schema(_: argparse.Namespace) -> None:
    from aflite_assets.specs.yaml.schema import schema_text

    write_lines(sys.stdout, schema_text().splitlines())


if __name__ == "__main__":
    sys.exit(main())
