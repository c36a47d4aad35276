"""The pictures of the README, of a stored report's page and of Dagster's lineage, taken with the system's Chromium.

`python -m benchmarks.front_page --store FOLDER --pictures` makes them. Dagster is started for this in an empty home, on
a free port of 127.0.0.1, and stopped afterwards. The pages ask for nothing outside themselves.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from PIL import Image

from aflite_assets.results import ResultStore
from aflite_assets.stages.pipeline import STAGES
from tests.running_dagster import CHROMIUM_FLAGS, REPOSITORY, DagsterServer, free_port, running_dagster

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FloatRect, Page

REPORT_OF = "marked_digits"
REPORT_SIZE = (1000, 760)
LINEAGE_SIZE = (1800, 1500)
GROUPS = ("data", "warmup", "embedding", "filtering", "evaluation", "report")
MARGIN = 8
"""Pixels around the lineage; its zoom control is a little further off."""
SHARP = 1.6
"""Pixels of the picture per pixel of the page, for screens that have more than one."""
COLOURS = 128
"""Colours of a picture's palette: pages are flat, so that more would only be larger files."""


def make_pictures(store: ResultStore, *, folder: Path) -> None:
    """Write `report_top.png` and `lineage.png` into a folder.

    Raises:
        StoreError: there is no report of `REPORT_OF`.
        FileNotFoundError: there is no Chromium.
    """
    report = store.current("benchmark_report", REPORT_OF).file("report.html")
    with _chromium() as browser:
        take_report(browser, report, folder / "report_top.png")
        with _empty_dagster() as server:
            take_lineage(browser, server, folder / "lineage.png")


def take_report(browser: "Browser", report: Path, picture: Path) -> None:
    """Take the first screen of a report's page."""
    page = _page(browser, REPORT_SIZE)
    page.goto(report.as_uri())
    page.wait_for_load_state("load")
    _save(page.screenshot(), picture)
    page.close()


def take_lineage(browser: "Browser", server: DagsterServer, picture: Path) -> None:
    """Take the stages from the raw dataset to the report, from top to bottom, with all groups open."""
    page = _page(browser, LINEAGE_SIZE)
    page.goto(server.url)
    page.evaluate("localStorage.setItem('asset-graph-direction', JSON.stringify('vertical'))")
    selection = " or ".join(f'key:"{stage}"' for stage in (*STAGES, "iteration_sets"))
    expanded = ",".join(f"global@global:{group}" for group in GROUPS)
    page.goto(f"{server.url}/asset-groups~{quote(selection)}/?expanded={quote(expanded)}")
    for stage in STAGES:
        page.get_by_text(stage, exact=True).first.wait_for()
    # The graph moves into the middle after it was drawn.
    page.wait_for_timeout(3_000)
    boxes = [box for one in page.locator("svg foreignObject").all() if (box := one.bounding_box())]
    _save(page.screenshot(clip=_around(boxes)), picture)
    page.close()


def _around(boxes: Sequence["FloatRect"]) -> "FloatRect":
    """Return the smallest rectangle that has all of these, and a margin."""
    left, top = (min(box[side] for box in boxes) - MARGIN for side in ("x", "y"))
    right = max(box["x"] + box["width"] for box in boxes) + MARGIN
    bottom = max(box["y"] + box["height"] for box in boxes) + MARGIN
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def _page(browser: "Browser", size: tuple[int, int]) -> "Page":
    width, height = size
    return browser.new_page(
        viewport={"width": width, "height": height}, device_scale_factor=SHARP, color_scheme="light"
    )


def _save(png: bytes, picture: Path) -> None:
    image = Image.open(BytesIO(png)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)


@contextmanager
def _chromium() -> Iterator["Browser"]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        raise FileNotFoundError("neither chromium nor chromium-browser is on the PATH; install one for the pictures")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, headless=True, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@contextmanager
def _empty_dagster() -> Iterator[DagsterServer]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("home", "dagster"):
            (root / name).mkdir()
        shutil.copy(REPOSITORY / "dagster.yaml", root / "dagster")
        environment = os.environ | {"AFLITE_HOME": str(root / "home"), "DAGSTER_HOME": str(root / "dagster")}
        # Several processes that create the history's database at once break it; one does it first.
        first = [sys.executable, "-m", "dagster", "instance", "info"]
        subprocess.run(first, env=environment, cwd=REPOSITORY, check=True, capture_output=True)
        server = DagsterServer(f"http://127.0.0.1:{free_port()}", root)
        with running_dagster(server, environment):
            server.wait_until(server.answers, seconds=120, what="Dagster answers")
            yield server
