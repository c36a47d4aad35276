"""A running Dagster, the Chromium that looks at it, and what pages asked for."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

REPOSITORY = Path(__file__).parents[1]
CHROMIUM_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass(frozen=True)
class DagsterServer:
    """Where a running Dagster is found, and what it is asked."""

    url: str
    root: Path

    @property
    def log(self) -> Path:
        """The file with everything it printed."""
        return self.root / "dagster.log"

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """The data of a GraphQL query's answer."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        headers = {"Content-Type": "application/json", "Origin": self.url}
        request = urllib.request.Request(f"{self.url}/graphql", body, headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            answer: dict[str, Any] = json.load(response)
        assert "errors" not in answer, answer["errors"]
        data: dict[str, Any] = answer["data"]
        return data

    def answers(self) -> bool:
        """Whether the definitions are loaded."""
        try:
            return bool(self.ask("{assetNodes {id}}")["assetNodes"])
        except OSError:
            return False

    def wait_until(self, condition: Callable[[], Any], *, seconds: float, what: str) -> Any:
        """The first true value of `condition`, asked five times a second."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if value := condition():
                return value
            time.sleep(0.2)
        pytest.fail(f"{what}: not within {seconds} seconds\n{self.log.read_text()[-5000:]}")


@dataclass(frozen=True)
class Traffic:
    """What pages asked for and complained about."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def watch(self, page: "Page") -> None:
        """Record from now on."""
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda line: self._hear(line))

    def _hear(self, line: "ConsoleMessage") -> None:
        if line.type == "error":
            self.complaints.append(line.text)

    def check(self, *allowed: str) -> None:
        """Something was asked for, all of it begins with one of these, and nothing was complained about."""
        assert self.requests
        assert [address for address in self.requests if not address.startswith(allowed)] == []
        assert self.complaints == []


def chromium_path() -> str:
    """Where the system's Chromium is; the test is skipped if there is none."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("neither chromium nor chromium-browser is on the PATH")
    return executable


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """A headless Chromium of the system's."""
    executable = chromium_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, headless=True, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@contextmanager
def running_dagster(
    server: DagsterServer, environment: dict[str, str], *, module: str = "definitions"
) -> Iterator[subprocess.Popen[bytes]]:
    """`aflite web --dev` in a process group of its own, of which nothing is left afterwards."""
    port = server.url.rpartition(":")[2]
    command = [sys.executable, "-m", "aflite_assets.command_line.main", "web", "--dev", "--port", port, "-m", module]
    with running(command, environment, log=server.log) as process:
        yield process


@contextmanager
def running(command: Sequence[str], environment: dict[str, str], *, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command in the repository's folder and a process group of its own, of which nothing is left afterwards."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, cwd=REPOSITORY, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
