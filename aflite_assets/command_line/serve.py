"""The commands `aflite serve` and `aflite open`, which show published results in browsers on this machine."""

import argparse
import html
import http.server
import re
import sys
import webbrowser
from contextlib import suppress
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import unquote, urlsplit

from aflite_assets.addresses import RESULTS, base_address, host_name
from aflite_assets.command_line.terminal import write_lines
from aflite_assets.errors import (
    AfliteError,
    StoreAccessError,
    StoreError,
    StoreUnreachableError,
    UnsupportedStoreError,
)
from aflite_assets.results.damage import own_damage
from aflite_assets.results.opening import open_store
from aflite_assets.results.records import PublishedResult
from aflite_assets.results.store import CURRENT, NAME, ResultStore
from aflite_assets.text import listed

DEFAULT_PORT = 3333
ADDRESS = "127.0.0.1"

_DESCRIPTION = f"""\
Serves the published results to browsers on this machine, read-only, at http://{ADDRESS}:{DEFAULT_PORT}. The results are
in the folder results of AFLITE_HOME (default: .aflite), unless AFLITE_STORE names another place. If Dagster is started
with {RESULTS} set to the printed address, its pages link to reports and show pictures directly.
"""

_OPENING = f"""\
Opens the current report of a dataset in the browser. Serves the report on {ADDRESS} until Ctrl+C, as `aflite serve`
does.
"""

_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]*")
"""Pattern of one part of a served path: no hidden names, no `..`."""

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".md": "text/plain; charset=utf-8",
    ".png": "image/png",
}
"""File types that a browser displays. All other files are downloaded."""

_LOCKED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_INDEX_POLICY = f"{_LOCKED}; style-src 'unsafe-inline'"
_FILE_POLICY = f"{_LOCKED}; sandbox"
# The report names its own scripts by their hashes in a policy of its own, and both hold.
_REPORT_POLICY = (
    f"{_LOCKED}; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "sandbox allow-scripts allow-downloads allow-popups"
)
_REPORTS = "benchmark_report"
_MOST_NAMED = 8
_STYLE = "body{font:1rem sans-serif;margin:2rem;max-width:60rem} li{margin:.4rem 0}"

Body = TypeVar("Body", BytesIO, BinaryIO)


class ResultServer(http.server.ThreadingHTTPServer):
    """An HTTP server on the loopback address, which serves the published files below one folder.

    The server answers GET and HEAD. Requests with other host names are rejected, to prevent DNS rebinding by other
    sites. Only regular files are served, and only if their paths have no symbolic links and no hidden names. Folders
    are not listed. The page `/` links to the current reports.
    """

    daemon_threads = True

    def __init__(self, store: ResultStore, port: int) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.store = store
        self.root = store.root.resolve()
        told = base_address(RESULTS)
        self.hosts = {ADDRESS, "localhost", *([str(urlsplit(told).hostname)] if told else [])}

    @property
    def address(self) -> str:
        """Address of the server."""
        return f"http://{ADDRESS}:{self.server_address[1]}"

    def file(self, path: str) -> Path | None:
        """Return the file for the path of a request, or None if the server does not serve the file."""
        segments = unquote(_path_of(path)).removeprefix("/").split("/")
        is_served = all(_SEGMENT.fullmatch(segment) for segment in segments)
        return _plain_file(self.root.joinpath(*segments)) if is_served else None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the errors of browsers that disconnect early. Report all other errors."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Handler whose base class sends what `send_head` returns to GET, and nothing more to HEAD."""

    server: ResultServer
    server_version = "aflite"
    sys_version = ""
    timeout = 60
    """Timeout of an idle connection, in seconds."""

    def log_message(self, format: str, *arguments: Any) -> None:
        """Do nothing, because nobody needs a log line for each request."""

    def send_head(self) -> BytesIO | BinaryIO:
        """Send the status and the headers of an answer, and return its body."""
        if host_name(self.headers.get("Host", "")) not in self.server.hosts:
            told = f"Open {self.server.address} instead; {RESULTS} names the host under which results are served"
            return self._text(HTTPStatus.MISDIRECTED_REQUEST, f"{told} elsewhere.\n")
        if _path_of(self.path) in ("", "/"):
            try:
                return self._text(HTTPStatus.OK, index_page(self.server.store), kind=".html", policy=_INDEX_POLICY)
            except AfliteError as error:
                return self._text(HTTPStatus.BAD_GATEWAY, f"{error}\n")
        path = self.server.file(self.path)
        if path is None:
            return self._text(HTTPStatus.NOT_FOUND, "This result does not exist; / lists the current reports.\n")
        is_report = path.name == "report.html" and path.relative_to(self.server.root).parts[0] == _REPORTS
        if is_report and (damage := _damage(path)):
            return self._text(HTTPStatus.CONFLICT, f"This report differs from the published report: {damage}.\n")
        policy = _REPORT_POLICY if is_report else _FILE_POLICY
        return self._answer(HTTPStatus.OK, path.open("rb"), path.stat().st_size, path.suffix, policy)

    def _text(self, status: HTTPStatus, text: str, *, kind: str = ".md", policy: str = _FILE_POLICY) -> BytesIO:
        content = text.encode()
        return self._answer(status, BytesIO(content), len(content), kind, policy)

    def _answer(self, status: HTTPStatus, body: Body, size: int, suffix: str, policy: str) -> Body:
        is_picture = suffix == ".png"
        self.send_response(status)
        self.send_header("Content-Type", _TYPES.get(suffix, "application/octet-stream"))
        self.send_header("Content-Length", str(size))
        self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        # Dagster's pages, which have another address, show the pictures.
        self.send_header("Cross-Origin-Resource-Policy", "cross-origin" if is_picture else "same-origin")
        self.send_header("Cache-Control", "private, max-age=86400" if is_picture else "no-store")
        if suffix not in _TYPES:
            self.send_header("Content-Disposition", "attachment")
        self.end_headers()
        return body


def _path_of(address: str) -> str:
    """Return the path of a request's address, or a path that is never served if the address is not valid."""
    try:
        return urlsplit(address).path
    except ValueError:
        return "/."


def _plain_file(wanted: Path) -> Path | None:
    """Return the regular file at an absolute path. Return None if the file is missing or the path contains a symbolic
    link.
    """
    try:
        resolved = wanted.resolve(strict=True)
    except (OSError, RuntimeError):  # none there; links in a circle
        return None
    return resolved if resolved == wanted and resolved.is_file() else None


def index_page(store: ResultStore) -> str:
    """Return a page with links to all current reports, and with the names of reports that cannot be shown.

    From an object store, the current reports are downloaded.

    Raises:
        StoreError: the object store cannot be reached, or refuses.
    """
    made = [dataset for asset, dataset, _ in store.partitions() if asset == _REPORTS]
    items = "".join(f"<li>{item}</li>" for dataset in made if (item := _index_item(store, dataset)))
    listed = f"<ul>{items}</ul>" if items else f"<p>There are no reports yet; materialise {_REPORTS}.</p>"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>AFLite reports</title><style>{_STYLE}</style>'
        f"<h1>Reports</h1>{listed}</html>"
    )


def _index_item(store: ResultStore, dataset: str) -> str | None:
    name = html.escape(dataset)
    try:
        address = _current_report(store, dataset)
    except (StoreAccessError, StoreUnreachableError, UnsupportedStoreError):
        raise
    except StoreError as error:
        return f"{name} is not shown: {html.escape(str(error))}"
    return None if address is None else f'<a href="/{html.escape(address)}">{name}</a>'


def _current_report(store: ResultStore, dataset: str) -> str | None:
    """Return the path of a dataset's current report on the server, or None if the dataset has no report.

    Raises:
        StoreError: the report's files are missing or differ from the published files.
    """
    if not NAME.fullmatch(dataset) or store.current_key(_REPORTS, dataset) is None:
        return None
    report = store.current(_REPORTS, dataset).path / "report.html"
    address = report.relative_to(store.root).as_posix()
    is_here = _plain_file(store.root.resolve() / address) is not None
    if problem := _damage(report) if is_here else "its page is missing":
        raise StoreError(
            f"the report of {dataset!r} differs from the published report ({problem}); run `aflite refresh {dataset}` "
            "to write the report again"
        )
    return address


def _damage(report: Path) -> str:
    """Return a description of the damage of the result with a report's page, or "" if the result is intact."""
    folder = report.parent
    return "; ".join(own_damage(PublishedResult(_REPORTS, folder.parent.name, folder.name, folder)))


def make_server(store: ResultStore, port: int) -> ResultServer:
    """Return a server that is bound to `port` (0 means any free port). The server answers when `serve_forever` runs.

    Raises:
        StoreError: the port is in use or not permitted.
    """
    try:
        return ResultServer(store, port)
    except (OSError, OverflowError) as error:
        raise StoreError(
            f"results cannot be served on {ADDRESS}:{port} ({error}); stop the program that uses the port, or give "
            "another port with `--port`"
        ) from error


def report_path(store: ResultStore, dataset: str) -> str:
    """Return the path of a dataset's current report on the server.

    Raises:
        StoreError: the dataset has no report, or the report's files differ from the published files.
    """
    report = _current_report(store, dataset)
    if report is None:
        names = [name for asset, name, _ in store.partitions() if asset == _REPORTS]
        made = [name for name in names if store.backend.exists(f"{_REPORTS}/{name}/{CURRENT}")]
        have = f"; available reports: {listed(made, _MOST_NAMED)}" if made else ""
        raise StoreError(
            f"the dataset {dataset!r} has no report in {store.place}; run `aflite refresh {dataset}` to write the "
            f"report{have}"
        )
    return report


def add_commands(commands: Any) -> None:
    """Add `serve` and `open` to the command line's subparsers."""
    show = commands.add_parser("open", help="open a dataset's report in the browser", description=_OPENING)
    show.add_argument("dataset", metavar="NAME", help="the dataset")
    show.add_argument("--print", action="store_true", help="print the path of the report instead")
    show.add_argument("--port", type=int, default=0, help="default: any that is free")
    show.set_defaults(command=_open)
    parser = commands.add_parser("serve", help="show results in a browser, read-only", description=_DESCRIPTION)
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"default: {DEFAULT_PORT}; 0: any that is free")
    parser.set_defaults(command=_serve)


def _open(options: argparse.Namespace) -> None:
    store = open_store()
    path = report_path(store, options.dataset)
    if options.print:
        write_lines(sys.stdout, [str(store.root.resolve() / path)])
        return
    with make_server(store, options.port) as server, suppress(KeyboardInterrupt):
        address = f"{server.address}/{path}"
        write_lines(sys.stdout, [f"{options.dataset} at {address} (Ctrl+C ends)"])
        webbrowser.open(address)
        server.serve_forever()


def _serve(options: argparse.Namespace) -> None:
    store = open_store()
    with make_server(store, options.port) as server, suppress(KeyboardInterrupt):
        write_lines(sys.stdout, [f"Results of {store.place} at {server.address} (Ctrl+C ends)"])
        server.serve_forever()
