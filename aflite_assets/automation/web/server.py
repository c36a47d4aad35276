"""Dagster's webserver in this process, with the guard in front of it. Code location and daemon are in `services`."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import dagster as dg
import uvicorn
import yaml
from starlette.applications import Starlette

from aflite_assets.addresses import DAGSTER, LOOPBACK, base_address, host_name
from aflite_assets.assets.dagster_internals import load_workspace, webserver_app
from aflite_assets.automation.web.guard import BrowserGuard
from aflite_assets.errors import InvalidInputError, StoreError

if TYPE_CHECKING:
    from aflite_assets.assets.dagster_internals import WorkspaceProcessContext

LOCATION = "aflite"
"""Name of the code location, as in `workspace.yaml`."""

_ANY = ("0.0.0.0", "::", "")
"""Addresses to bind that are no names to call."""
_DATABASE_SECONDS, _RECYCLE_SECONDS, _OVERFLOW = 15, 3600, 20
"""Those of Dagster's own command: a statement's time limit, a connection's age, connections beside the pool's."""
_HIGHEST_PORT = 65535
_DEFAULT_PORTS = {"http": 80, "https": 443}
_GOODBYE_SECONDS = 2
"""Websockets of open pages end only when they are cut."""


@dataclass(frozen=True)
class WebSettings:
    """Address and port to listen at (0: any free one), further Hosts to answer, and whether pages change nothing."""

    host: str = "127.0.0.1"
    port: int = 3000
    allowed_hosts: tuple[str, ...] = ()
    read_only: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.port <= _HIGHEST_PORT:
            raise InvalidInputError(f"the port is {self.port}; give one from 0 (any that is free) to {_HIGHEST_PORT}")
        for name in self.allowed_hosts:
            plain = name.lower().strip("[]")
            if not plain or host_name(f"[{plain}]" if ":" in plain else plain) != plain:
                raise InvalidInputError(
                    f"{name!r} is no host name as browsers send it; give it without scheme, port and blanks, in ASCII"
                )

    def hosts(self) -> frozenset[str]:
        """Names that a request's Host may have: this machine's, the address bound, those allowed, AFLITE_DAGSTER_URL's.

        Raises:
            InvalidInputError: AFLITE_DAGSTER_URL holds no usable address.
        """
        named = base_address(DAGSTER)
        shown = [str(urlsplit(named).hostname)] if named else []
        bound = [] if self.host in _ANY else [self.host]
        return LOOPBACK | {name.lower().strip("[]") for name in (*self.allowed_hosts, *bound, *shown)}

    def origins(self) -> frozenset[str]:
        """Return the origin of a proxy in front, from AFLITE_DAGSTER_URL; on the loopback the Host header alone
        decides.
        """
        parts = urlsplit(base_address(DAGSTER) or "")
        if not parts.hostname or parts.hostname in LOOPBACK:
            return frozenset()
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
        return frozenset({f"{parts.scheme}://{host}{port}"})


class WebServer(AbstractContextManager["WebServer"]):
    """Dagster's webserver, bound to its port from the start and until its block is left.

    Raises:
        StoreError: the address or port is taken or may not be used.
    """

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._socket = _bound(settings)
        self._server: uvicorn.Server | None = None
        self._is_ending = threading.Event()

    def __exit__(self, *_: object) -> None:
        """Give the port back."""
        self._socket.close()

    @property
    def address(self) -> str:
        """Where a browser on this machine reaches the server."""
        host, port = self._socket.getsockname()[:2]
        named = "127.0.0.1" if host in _ANY else host
        return f"http://{f'[{named}]' if ':' in named else named}:{port}"

    def serve(self, workspace: Path, *, log: Callable[[str], None]) -> None:
        """Load the code locations of a workspace file, `log` a line with the address, answer until a signal or `end`.

        Raises:
            InvalidInputError: `workspace` is no file, or AFLITE_DAGSTER_URL holds no usable address.
        """
        if not workspace.is_file():
            raise InvalidInputError(f"the workspace {str(workspace)!r} is no file; name one by --workspace")
        with dg.DagsterInstance.get() as instance:
            instance.optimize_for_webserver(_DATABASE_SECONDS * 1000, _RECYCLE_SECONDS, _OVERFLOW)
            with load_workspace(instance, workspace, read_only=self._settings.read_only) as context:
                app = guarded_app(context, self._settings)
                config = uvicorn.Config(
                    app, log_level="warning", server_header=False, timeout_graceful_shutdown=_GOODBYE_SECONDS
                )
                self._server = uvicorn.Server(config)
                if not self._is_ending.is_set():
                    for line in self._greeting():
                        log(line)
                    self._server.run(sockets=[self._socket])

    def _greeting(self) -> Iterator[str]:
        if self._settings.host not in LOOPBACK:
            names = ", ".join(sorted(self._settings.hosts()))
            yield f"Whoever reaches port {self.address.rpartition(':')[2]} can start runs; it answers the names {names}"
        yield f"Dagster at {self.address} (Ctrl+C ends)"

    def end(self) -> None:
        """Stop answering, soon; may be called from another thread."""
        self._is_ending.set()
        if self._server is not None:
            self._server.should_exit = True


def guarded_app(context: "WorkspaceProcessContext", settings: WebSettings) -> BrowserGuard:
    """Dagster's webserver behind the guard, which is outermost: it adds its headers to errors too."""
    app = webserver_app(context, lifespan=_lifespan)
    return BrowserGuard(app, hosts=settings.hosts(), origins=settings.origins(), read_only=settings.read_only)


@contextmanager
def workspace_file(module: str, *, socket_path: Path | None = None) -> Iterator[Path]:
    """Write a workspace of one code location: a module, or the code server at a socket that has loaded it."""
    location = (
        {"python_module": {"module_name": module, "location_name": LOCATION}}
        if socket_path is None
        else {"grpc_server": {"socket": str(socket_path), "location_name": LOCATION}}
    )
    with TemporaryDirectory(prefix="aflite-web-") as folder:
        file = Path(folder) / "workspace.yaml"
        file.write_text(yaml.safe_dump({"load_from": [location]}), encoding="utf-8")
        yield file


def _bound(settings: WebSettings) -> socket.socket:
    try:
        (family, *_, address), *_ = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        # Listening from now on: no other process can take the port before the code locations are loaded.
        return socket.create_server(address, family=family)
    except (OSError, OverflowError) as error:
        raise StoreError(
            f"Dagster cannot be served on {settings.host}:{settings.port} ({error}); end what uses the port, or give "
            "another by --port"
        ) from error


@asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    with suppress(asyncio.CancelledError):  # how uvicorn ends one that is cut short
        yield
