"""A Dagster over a tiny dataset, and pages of a headless Chromium that go nowhere else."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.running_dagster import REPOSITORY, DagsterServer, Traffic, free_port, running_dagster
from tests.small_datasets import circles

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages are made in the test's process, which has loaded their libraries; `test_attempts` has the children."""
    from aflite_assets.assets.steps import attempts
    from tests.stages_made_here import make_here

    monkeypatch.setattr(attempts, "make_in_child", make_here)


@pytest.fixture(scope="module")
def dagster_server(chromium: "Browser", tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagsterServer]:
    """Dagster as a user starts it, with one dataset of theirs and empty homes; stages are made in the run's process.

    `users_server` makes them in a child process of the run.
    """
    with _ready_server(tmp_path_factory.mktemp("browser"), "tests.assets.made_in_the_run") as server:
        yield server


@pytest.fixture(scope="module")
def users_server(chromium: "Browser", tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagsterServer]:
    """Dagster as a user starts it, with one dataset of theirs and empty homes."""
    with _ready_server(tmp_path_factory.mktemp("users"), "definitions") as server:
        yield server


@contextmanager
def _ready_server(root: Path, module: str) -> Iterator[DagsterServer]:
    environment = _environment(root)
    server = DagsterServer(f"http://127.0.0.1:{free_port()}", root)
    with running_dagster(server, environment, module=module) as process:

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
