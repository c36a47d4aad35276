"""`aflite open`: the current report of a dataset, in the browser."""

import argparse
import sys
import webbrowser
from contextlib import suppress
from typing import Any

from aflite_assets.addresses import results_page
from aflite_assets.command_line.serve import make_server
from aflite_assets.command_line.terminal import escaped_lines
from aflite_assets.errors import StoreError
from aflite_assets.results.damage import own_damage
from aflite_assets.results.opening import open_store
from aflite_assets.results.records import PublishedResult
from aflite_assets.results.store import ResultStore

REPORT, PAGE = "benchmark_report", "report.html"

_DESCRIPTION = """\
Opens the current report of a dataset in the browser. It is served read-only on the loopback address, as by
`aflite serve`, until Ctrl+C ends the command. With --print nothing is served or opened: the report's address is printed
if AFLITE_RESULTS_URL is set, otherwise its path.
"""


def add_command(commands: Any) -> None:
    """Add `open` to the command line's subparsers."""
    parser = commands.add_parser("open", help="open a dataset's report in the browser", description=_DESCRIPTION)
    parser.add_argument("name", metavar="NAME", help="a dataset")
    parser.add_argument("--print", action="store_true", dest="only_print", help="print the address or path only")
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    parser.set_defaults(command=_open)


def current_report(name: str, store: ResultStore) -> PublishedResult:
    """Return the current report of a dataset, which may have lost its YAML file.

    Raises:
        SpecError: no dataset has this name.
        StoreError: there is no report yet, or its files are not what was published; the message has the command.
    """
    if name not in store.datasets():
        from aflite_assets.specs.registry import load_registry

        name = load_registry()[name].name
    if store.current_key(REPORT, name) is None:
        raise StoreError(
            f"dataset {name!r} has no report yet below {store.place}; make one with `aflite refresh {name}`"
        )
    report = store.current(REPORT, name)
    report.file(PAGE)
    damage = own_damage(report)
    if damage:
        raise StoreError(
            f"the report of {name!r} in {report.path} is not what was published ({'; '.join(damage)}); make it again "
            f"with `aflite refresh {name}`"
        )
    return report


def _open(options: argparse.Namespace) -> None:
    store = open_store()
    report = current_report(options.name, store)
    path = report.file(PAGE)
    if options.only_print:
        _say(results_page(path, store.root) or str(path))
        return
    with make_server(store.root, options.port, bring=store.bring_current) as server:
        address = f"{server.address}/{path.relative_to(store.root).as_posix()}"
        _say(f"Report of {options.name} at {address} (Ctrl+C ends)")
        if not webbrowser.open(address):
            _say("No browser could be started; open the address by hand.")
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def _say(line: str) -> None:
    sys.stdout.write(f"{escaped_lines(line)}\n")
    sys.stdout.flush()
