"""Dagster's commands `dagster-webserver` and `dagster dev`, with the guard in front of the pages."""

import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import yaml

from aflite_assets.addresses import DAGSTER, LOOPBACK, base_address, host_name
from aflite_assets.assets.dagster_internals import run_dev, run_webserver
from aflite_assets.automation.web.guard import BrowserGuard
from aflite_assets.errors import InvalidInputError, StoreError, WorkerLostError

LOCATION = "aflite"
"""Name of the code location, as in `workspace.yaml`."""

_ANY = ("0.0.0.0", "::", "")
"""Addresses that a server can bind and that browsers cannot open."""
_HIGHEST_PORT = 65535
_SETTINGS = "AFLITE_WEB_SETTINGS"
"""Environment variable with the settings of the webserver's process."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class WebSettings:
    """Address and port of the server (port 0: any free port), further host names, and whether pages are read-only."""

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
        """Return the allowed names in `Host`: of this machine, the bound address, the settings and AFLITE_DAGSTER_URL.

        Raises:
            InvalidInputError: AFLITE_DAGSTER_URL is not a valid address.
        """
        named = base_address(DAGSTER)
        shown = [str(urlsplit(named).hostname)] if named else []
        bound = [] if self.host in _ANY else [self.host]
        return LOOPBACK | {name.lower().strip("[]") for name in (*self.allowed_hosts, *bound, *shown)}

    def origins(self) -> frozenset[str]:
        """Return the origin of a proxy from AFLITE_DAGSTER_URL; empty if the address is on the loopback."""
        parts = urlsplit(base_address(DAGSTER) or "")
        if not parts.hostname or parts.hostname in LOOPBACK:
            return frozenset()
        default_port = ":443" if parts.scheme == "https" else ":80"
        return frozenset({f"{parts.scheme}://{parts.netloc.lower().removesuffix(default_port)}"})


def serve(settings: WebSettings, workspace: Path, *, dev: bool = False) -> None:
    """Serve the code locations of a workspace file until a signal; with `dev` also run code servers and the daemon.

    Raises:
        InvalidInputError: `workspace` is not a file, or AFLITE_DAGSTER_URL is not a valid address.
        StoreError: the address or port is taken or forbidden.
        WorkerLostError: with `dev`, one of the processes was lost.
    """
    if not workspace.is_file():
        raise InvalidInputError(f"the workspace {str(workspace)!r} is not a file; give one with `--workspace`")
    settings.origins()
    port = _free_port(settings)
    target = ["--workspace", str(workspace), "--host", settings.host, "--port", str(port)]
    if not dev:
        _run_webserver(settings, [*target, "--dagster-log-level", "warning"])
        return
    os.environ[_SETTINGS] = json.dumps(asdict(settings))
    signals: list[int] = []

    def interrupt(number: int, _: object) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)  # Dagster gives SIGTERM the same handler
    command = [sys.executable, "-m", __name__]
    run_dev([*target, "--log-level", "warning"], webserver=command, preexec_fn=_end_with_parent)
    if not signals:
        raise WorkerLostError("one of Dagster's processes was lost; see what it printed above, and start it again")
    if signal.SIGTERM in signals:
        sys.exit(128 + signal.SIGTERM)


def _run_webserver(settings: WebSettings, arguments: Sequence[str]) -> None:
    """Run `dagster-webserver` with the guard as outermost middleware, so that error pages get its headers too."""

    def guarded(app: Any) -> BrowserGuard:
        port = arguments[arguments.index("--port") + 1]
        named = "127.0.0.1" if settings.host in _ANY else settings.host
        address = f"http://{f'[{named}]' if ':' in named else named}:{port}"
        if settings.host not in LOOPBACK:
            names = ", ".join(sorted(settings.hosts()))
            _say(f"Whoever reaches {address} can start runs; it answers the names {names}")
        _say(f"Dagster at {address} (Ctrl+C ends)")
        return BrowserGuard(app, hosts=settings.hosts(), origins=settings.origins(), read_only=settings.read_only)

    run_webserver([*arguments, *(["--read-only"] if settings.read_only else [])], wrap=guarded)


@contextmanager
def workspace_file(module: str) -> Iterator[Path]:
    """Write a temporary workspace file with a module as its only code location, and yield the file's path."""
    location = {"python_module": {"module_name": module, "location_name": LOCATION}}
    with TemporaryDirectory(prefix="aflite-web-") as folder:
        file = Path(folder) / "workspace.yaml"
        file.write_text(yaml.safe_dump({"load_from": [location]}), encoding="utf-8")
        yield file


def _free_port(settings: WebSettings) -> int:
    """Return the port of the settings, or a free port for port 0, after a check that the port is free."""
    try:
        (family, *_, address), *_ = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        with socket.create_server(address, family=family) as probe:
            port: int = probe.getsockname()[1]
            return port
    except (OSError, OverflowError) as error:
        raise StoreError(
            f"Dagster cannot be served on {settings.host}:{settings.port} ({error}); end what uses the port, or give "
            "another by --port"
        ) from error


def _end_with_parent() -> None:
    """Let Linux end this process when its parent process ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    given = json.loads(os.environ[_SETTINGS])
    _run_webserver(WebSettings(**{**given, "allowed_hosts": tuple(given["allowed_hosts"])}), sys.argv[1:])
