"""The command `aflite web`, which serves Dagster's pages and rejects requests from web pages of other origins."""

import argparse
import os
import signal
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aflite_assets.command_line.init import prepare_dagster_home
from aflite_assets.command_line.terminal import write_lines
from aflite_assets.errors import InvalidInputError
from aflite_assets.paths import dagster_home

DEFAULT_PORT = 3000
_WORKSPACE = "workspace.yaml"
_HOME = "DAGSTER_HOME"

_DESCRIPTION = """\
Serves Dagster's pages to browsers on this machine. `dagster dev` and `dagster-webserver` also accept requests from
any other open web page. This command rejects requests from other origins, and unknown host names. There is no password:
everyone who can reach the port, including other users of this machine, can start runs.
"""


def add_command(commands: Any) -> None:
    """Add `web` to the command line's subparsers."""
    summary = "show Dagster in a browser, and reject requests from other web pages"
    parser = commands.add_parser("web", help=summary, description=_DESCRIPTION)
    parser.add_argument("--dev", action="store_true", help="also start code location and daemon, as `dagster dev` does")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    port = f"port of the server; 0 for any free port (default: {DEFAULT_PORT})"
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=port)
    parser.add_argument("--read-only", action="store_true", help="forbid starting runs and changing anything")
    allowed = "further host name of this server that requests may have, beside the host in AFLITE_DAGSTER_URL"
    parser.add_argument("--allow-host", metavar="NAME", action="append", default=[], help=allowed)
    file = f"file of code locations, not with --dev (default: {_WORKSPACE} in this folder, or else the module)"
    parser.add_argument("--workspace", "-w", metavar="FILE", type=Path, help=file)
    parser.add_argument("--module", "-m", default="definitions", help="module to load (default: definitions)")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> None:
    """Serve Dagster's pages until a signal, with the instance in `DAGSTER_HOME` or, with `--dev`, a temporary one.

    Raises:
        InvalidInputError: `DAGSTER_HOME` is a relative path, or is not set and a temporary instance is not allowed.
    """
    if options.dev and options.workspace:
        raise InvalidInputError(
            "`--dev` starts its own code location and cannot be combined with `--workspace`; leave out `--workspace "
            f"{options.workspace}`"
        )
    if not options.dev and not os.environ.get(_HOME):
        raise InvalidInputError(
            f"`{_HOME}` is not set, so there is no run history to show; set `{_HOME}` to the folder that your runs "
            "use, or try `aflite web --dev`"
        )
    dagster_home()  # refuses a relative path before anything is created
    # What a supervisor sends ends everything in order, as Ctrl+C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with suppress(KeyboardInterrupt), ExitStack() as stack:
        if not os.environ.get(_HOME):
            os.environ[_HOME] = stack.enter_context(TemporaryDirectory(prefix="aflite-dagster-"))
            temporary = f"{_HOME} is not set: Dagster's history of this command is temporary; results are kept"
            write_lines(sys.stdout, [temporary])
        prepare_dagster_home(os.environ[_HOME])
        # Imported here: Dagster takes seconds, which --help need not wait for.
        from aflite_assets.automation.web.server import WebSettings, serve, workspace_file

        settings = WebSettings(options.host, options.port, tuple(options.allow_host), options.read_only)
        workspace = options.workspace or Path(_WORKSPACE)
        if options.dev or not (options.workspace or workspace.is_file()):
            workspace = stack.enter_context(workspace_file(options.module))
        serve(settings, workspace, dev=options.dev)
