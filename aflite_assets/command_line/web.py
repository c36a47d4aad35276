"""The command `aflite web`, which serves Dagster's pages and rejects requests from web pages of other origins."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from aflite_assets.command_line.init import prepare_dagster_home
from aflite_assets.command_line.terminal import escaped_lines
from aflite_assets.errors import InvalidInputError

DEFAULT_PORT = 3000
_WORKSPACE = "workspace.yaml"
_HOME = "DAGSTER_HOME"

_DESCRIPTION = """\
Serves Dagster's pages to browsers on this machine. `dagster dev` and `dagster-webserver` also accept requests from
any other open web page. This command rejects requests from other origins, and unknown host names. There is no password:
everyone who can reach the port, including other users of this machine, can start runs.
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `web` to the command line's subparsers."""
    parser = commands.add_parser(
        "web", help="show Dagster in a browser, and reject requests from other web pages", description=_DESCRIPTION
    )
    parser.add_argument(
        "--dev", action="store_true", help="also start the code location and the daemon, as `dagster dev` does"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    parser.add_argument(
        "--port",
        type=int,
        default=DEFAULT_PORT,
        help=f"port of the server; 0 for any free port (default: {DEFAULT_PORT})",
    )
    parser.add_argument("--read-only", action="store_true", help="forbid starting runs and changing anything")
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="additional host name of this server that is accepted in requests; the host in AFLITE_DAGSTER_URL "
        "is always accepted",
    )
    parser.add_argument(
        "--workspace",
        "-w",
        metavar="FILE",
        type=Path,
        help=f"file of code locations, not with --dev (default: {_WORKSPACE} in this folder, or else the module)",
    )
    parser.add_argument("--module", "-m", default="definitions", help="module to load (default: definitions)")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> None:
    if options.dev and options.workspace:
        raise InvalidInputError(
            "`--dev` starts its own code location and cannot be combined with `--workspace`; leave out `--workspace "
            f"{options.workspace}`"
        )
    # What a supervisor sends ends everything in order, as Ctrl+C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with suppress(KeyboardInterrupt), _dagster_home(may_be_temporary=options.dev):
        # Imported here: Dagster takes seconds, which --help need not wait for.
        from aflite_assets.automation.web.server import WebSettings, serve, workspace_file

        settings = WebSettings(options.host, options.port, tuple(options.allow_host), options.read_only)
        named = options.workspace or (Path(_WORKSPACE) if Path(_WORKSPACE).is_file() and not options.dev else None)
        with nullcontext(named) if named else workspace_file(options.module) as workspace:
            serve(settings, workspace, dev=options.dev)


@contextmanager
def _dagster_home(*, may_be_temporary: bool) -> Iterator[None]:
    """Prepare Dagster's instance in `DAGSTER_HOME`, or a temporary instance if the variable is not set.

    Raises:
        InvalidInputError: `DAGSTER_HOME` is not set, and a temporary instance is not allowed.
    """
    named = os.environ.get(_HOME)
    if named:
        prepare_dagster_home(Path(named).expanduser().absolute())
        yield
        return
    if not may_be_temporary:
        raise InvalidInputError(
            f"`{_HOME}` is not set, so there is no run history to show; set `{_HOME}` to the folder that your runs "
            "use, or try `aflite web --dev`"
        )
    with TemporaryDirectory(prefix="aflite-dagster-") as folder:
        os.environ[_HOME] = folder
        prepare_dagster_home(Path(folder))
        _say(f"{_HOME} is not set: Dagster's history of this command is temporary; results are kept")
        yield


def _say(line: str) -> None:
    sys.stdout.write(f"{escaped_lines(line)}\n")
    sys.stdout.flush()
