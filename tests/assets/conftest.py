"""A running Dagster over a tiny dataset, and pages of a headless Chromium that go nowhere else."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.small_datasets import circles

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

REPOSITORY = Path(__file__).parents[2]
CHROMIUM_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture
def made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages are made in the test's process, which has loaded their libraries; `test_attempts` has the children."""
    from aflite_assets.assets.steps import attempts
    from tests.stages_made_here import make_here

    monkeypatch.setattr(attempts, "make_in_child", make_here)


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
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
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
        """The first true value of `condition`, asked twice a second."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if value := condition():
                return value
            time.sleep(0.5)
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


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """A headless Chromium of the system's."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("neither chromium nor chromium-browser is on the PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, headless=True, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def dagster_server(chromium: "Browser", tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagsterServer]:
    """Dagster as a user starts it, with one dataset of theirs and empty homes; stages are made in the run's process.

    `users_server` has a process for each of them.
    """
    root = tmp_path_factory.mktemp("browser")
    workspace = yaml.safe_load((REPOSITORY / "workspace.yaml").read_text())
    (location,) = workspace["load_from"]
    location["python_file"] |= {
        "relative_path": str(Path(__file__).with_name("made_in_the_run.py")), "working_directory": str(REPOSITORY),
    }  # fmt: skip
    (root / "workspace.yaml").write_text(yaml.safe_dump(workspace))
    with _ready_server(root, root / "workspace.yaml") as server:
        yield server


@pytest.fixture(scope="module")
def users_server(chromium: "Browser", tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagsterServer]:
    """Dagster as a user starts it, with one dataset of theirs and empty homes."""
    with _ready_server(tmp_path_factory.mktemp("users"), REPOSITORY / "workspace.yaml") as server:
        yield server


@contextmanager
def _ready_server(root: Path, workspace: Path) -> Iterator[DagsterServer]:
    environment = _environment(root)
    server = DagsterServer(f"http://127.0.0.1:{free_port()}", root)
    with running_dagster(server, environment, workspace=workspace) as process:

        def ready() -> bool:
            assert process.poll() is None, server.log.read_text()
            return server.answers()

        server.wait_until(ready, seconds=90, what="Dagster answers")
        yield server


Pages = Callable[[DagsterServer], AbstractContextManager["Page"]]


@pytest.fixture(scope="module")
def dagster_page(chromium: "Browser") -> Pages:
    """Opens a page of a Dagster; it fails when the page asked elsewhere or reported an error."""

    @contextmanager
    def opened(server: DagsterServer) -> Iterator["Page"]:
        traffic = Traffic()
        page = chromium.new_page(base_url=server.url, viewport={"width": 1500, "height": 950})
        traffic.watch(page)
        yield page
        page.close()
        traffic.check(server.url, f"blob:{server.url}", "data:")

    return opened


@pytest.fixture
def page(dagster_page: Pages, dagster_server: DagsterServer) -> Iterator["Page"]:
    """A page of `dagster_server`."""
    with dagster_page(dagster_server) as opened:
        yield opened


@pytest.fixture
def file_page(chromium: "Browser") -> Iterator["Page"]:
    """A page for a report; fails the test that made it ask for anything outside its file or report an error."""
    traffic = Traffic()
    page = chromium.new_page()
    traffic.watch(page)
    yield page
    page.close()
    traffic.check("file:", "data:", "blob:", "about:")


def _environment(root: Path) -> dict[str, str]:
    for name in ("home", "dagster", "datasets"):
        (root / name).mkdir()
    shutil.copy(REPOSITORY / "dagster.yaml", root / "dagster")
    (root / "datasets" / "tiny_circles.yaml").write_text(yaml.safe_dump(circles("tiny_circles")))
    return os.environ | {
        "AFLITE_HOME": str(root / "home"),
        "AFLITE_DATASETS": str(root / "datasets"),
        "DAGSTER_HOME": str(root / "dagster"),
    }


@contextmanager
def running_dagster(
    server: DagsterServer, environment: dict[str, str], *, workspace: Path = REPOSITORY / "workspace.yaml"
) -> Iterator[subprocess.Popen[bytes]]:
    """`dagster dev` in a process group of its own, of which nothing is left afterwards."""
    host, port = server.url.removeprefix("http://").split(":")
    command = [sys.executable, "-m", "dagster", "dev", "-w", str(workspace), "-h", host, "-p", port]
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, cwd=REPOSITORY, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
