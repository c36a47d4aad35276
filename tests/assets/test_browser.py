"""What a user sees: from an empty Dagster through *Materialize all* to plots, tables, checks and the report."""

import re
from typing import TYPE_CHECKING, Any

import pytest

from aflite_assets.results import ResultStore
from aflite_assets.stages.pipeline import STAGES
from tests.assets.conftest import Pages
from tests.running_dagster import DagsterServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

GROUPS = ["data", "warmup", "embedding", "filtering", "evaluation", "report"]
PARTITION = "?view=partitions&partition=tiny_circles"
RAW_CHECKS = [
    "all_rows_labelled", "annotators_agree", "class_shares_alike", "classes_balanced", "features_finite",
    "features_on_one_scale", "few_repeats_in_train", "files_intact", "images_decode", "labels_are_not_texts",
    "labels_known", "no_constant_features", "no_empty_texts", "no_groups_across_splits", "no_label_conflicts",
    "no_label_copies", "no_nul_or_huge_cells", "no_repeated_features", "no_repeats_across_splits",
    "repeated_texts_grouped", "row_ids_unique",
]  # fmt: skip
_RUNS = "{runsOrError {... on Runs {results {runId status tags {key value}}}}}"
_KEYS = """{assetNodes(assetKeys: [{path: ["raw_dataset"]}]) {partitionKeys}}"""
_EVENTS = """query ($keys: [AssetKeyInput!], $partitions: [String!]) {
    assetNodes(assetKeys: $keys) {assetKey {path} assetMaterializations(partitions: $partitions) {runId}}}"""
_DRAWN = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(v => v > 0)"


@pytest.fixture(scope="module")
def run(dagster_server: DagsterServer, dagster_page: Pages) -> dict[str, Any]:
    """The run that *Materialize all* on the lineage page launches for one partition, once it has ended."""
    return _materialize_all(dagster_server, dagster_page)


def _materialize_all(server: DagsterServer, opened: Pages) -> dict[str, Any]:
    server.wait_until(lambda: "tiny_circles" in _listed(server), seconds=60, what="the dataset is listed")
    with opened(server) as page:
        page.goto("/asset-groups")
        page.locator("button", has_text="Materialize all").first.click()
        page.get_by_text("Select a partition or create one").click()
        # The list of partitions is as long as there are datasets, and lies over the button until it is left.
        page.get_by_placeholder("Filter partitions").fill("tiny_circles")
        page.get_by_role("menuitem").filter(has_text="tiny_circles").click()
        page.get_by_text("Launch runs to materialize").click()
        page.locator("button", has_text="Launch 1 run").click()
        page.get_by_text("Launched run").first.wait_for()
    ended: dict[str, Any] = server.wait_until(lambda: _ended(server), seconds=300, what="the run ends")
    return ended


def _listed(server: DagsterServer) -> list[str]:
    (node,) = server.ask(_KEYS)["assetNodes"]
    keys: list[str] = node["partitionKeys"]
    return keys


def _ended(server: DagsterServer) -> dict[str, Any] | None:
    runs = server.ask(_RUNS)["runsOrError"]["results"]
    return runs[0] if runs and runs[0]["status"] in {"SUCCESS", "FAILURE", "CANCELED"} else None


def test_lineage_shows_all_groups_and_assets(page: "Page") -> None:
    # Dagster draws only what is in view.
    page.set_viewport_size({"width": 2600, "height": 4200})
    page.goto("/asset-groups")
    for group in GROUPS:
        page.locator("svg foreignObject", has_text=group).first.wait_for()
    page.keyboard.press("Alt+e")
    for asset in ["dataset_registry", "iteration_sets", *STAGES]:
        page.get_by_text(asset, exact=True).first.wait_for()


def test_datasets_are_partitions(page: "Page") -> None:
    page.goto("/assets/raw_dataset" + PARTITION)
    page.get_by_title("tiny_circles").first.wait_for()
    assert page.get_by_title("marked_digits").count() == 0  # those that come with the project are not listed
    assert page.locator("button", has_text="Materialize").first.is_enabled()


def test_materialize_all_makes_every_asset_in_one_run(dagster_server: DagsterServer, run: dict[str, Any]) -> None:
    _check_made(dagster_server, run)
    assert len(_processes(dagster_server)) == 1


@pytest.mark.slow
def test_the_stages_of_a_run_are_made_in_one_child_process(users_server: DagsterServer, dagster_page: Pages) -> None:
    run = _materialize_all(users_server, dagster_page)
    _check_made(users_server, run)
    # The child makes all stages but those that the dataset's file switches off: the run writes their empty results.
    assert len(_processes(users_server)) == 2


def _processes(server: DagsterServer) -> set[int]:
    """The processes in which the results were made."""
    store = ResultStore(server.root / "home" / "results")
    return {store.current(name, "tiny_circles").manifest["process"] for name in STAGES}


def _check_made(server: DagsterServer, run: dict[str, Any]) -> None:
    assert run["status"] == "SUCCESS", server.log.read_text()[-5000:]
    assert {"key": "dagster/partition", "value": "tiny_circles"} in run["tags"]
    keys = [{"path": [name]} for name in STAGES]
    nodes = server.ask(_EVENTS, keys=keys, partitions=["tiny_circles"])["assetNodes"]
    made = {node["assetKey"]["path"][-1]: [event["runId"] for event in node["assetMaterializations"]] for node in nodes}
    assert made == {name: [run["runId"]] for name in STAGES}


def test_lineage_shows_what_was_made(run: dict[str, Any], page: "Page") -> None:
    page.goto("/locations/aflite/asset-groups/report")
    page.get_by_text(re.compile(r"^[1-9]\d*% filled$")).first.wait_for()


def test_iterations_are_plotted(run: dict[str, Any], page: "Page") -> None:
    page.goto("/assets/iteration_sets")
    page.get_by_role("button", name="Plots").click()
    page.get_by_text("representation_bias", exact=True).wait_for()
    page.wait_for_function(
        f"[...document.querySelectorAll('canvas')].length > 0 && "
        f"[...document.querySelectorAll('canvas')].every({_DRAWN})"
    )


def test_report_tables_stand_on_the_asset(run: dict[str, Any], page: "Page") -> None:
    page.goto("/assets/benchmark_report" + PARTITION)
    table = page.locator("table table", has_text="trained on").first
    table.wait_for()
    text = table.inner_text()
    assert "test, full (n = 200)" in text
    assert {"full", "random", "filtered"} <= set(text.split())


def test_checks_have_names_and_passed(run: dict[str, Any], page: "Page") -> None:
    page.goto("/assets/raw_dataset?view=checks")
    page.get_by_text(f"Checks ({len(RAW_CHECKS)})").wait_for()
    for name in RAW_CHECKS:
        # A shortened name stands in the page twice, once to be measured.
        page.locator("div", has_text=re.compile(rf"^{name}{name}")).first.wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_report_opens_from_a_file(
    run: dict[str, Any], dagster_server: DagsterServer, file_page: "Page", width: int
) -> None:
    page = file_page
    report = ResultStore(dagster_server.root / "home" / "results").current("benchmark_report", "tiny_circles")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(report.file("report.html").as_uri())
    page.wait_for_load_state("load")
    assert "Tiny <circles>" in page.locator("h1").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("window.innerWidth")


def test_a_run_shows_its_log_live_and_is_cancelled_by_a_click(dagster_server: DagsterServer, page: "Page") -> None:
    """Its log comes through a websocket; the run waits for its dataset, which this process holds.

    It stands last, since its checks count as not run afterwards.
    """
    store = ResultStore(dagster_server.root / "home" / "results")
    with store.dataset_lock("tiny_circles", what="a test"):
        page.goto("/assets/raw_dataset" + PARTITION)
        page.locator("button", has_text="Materialize").first.click()
        page.locator("button", has_text="Launch").last.click()
        page.get_by_text("Launched run").first.wait_for()
        (newest, *_) = dagster_server.ask(_RUNS)["runsOrError"]["results"]
        page.goto(f"/runs/{newest['runId']}")
        page.get_by_text(re.compile("a test")).first.wait_for()
        page.locator("button", has_text="Terminate").first.click()
        page.get_by_text("Do you wish to continue?").wait_for()  # else the last button is the page's own, now disabled
        page.locator("button", has_text="Terminate").last.click()
        page.get_by_text("Canceled", exact=True).first.wait_for()
    ended = dagster_server.wait_until(lambda: _ended(dagster_server), seconds=60, what="the run ends")
    assert (ended["runId"], ended["status"]) == (newest["runId"], "CANCELED")
