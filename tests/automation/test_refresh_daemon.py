"""Once with a real daemon: a CSV file changes, and the right run and only it happens, whatever befalls its code."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from aflite_assets.refresh.plan import plan_dataset
from aflite_assets.results import ResultStore
from aflite_assets.results.refresh_records import read_refreshes
from aflite_assets.specs.registry import load_spec
from aflite_assets.stages.pipeline import STAGES
from tests.automation.conftest import NAMES, write_table
from tests.running_dagster import REPOSITORY, DagsterServer, free_port, running_dagster

SENSOR = {"repositoryName": "__repository__", "repositoryLocationName": "aflite", "sensorName": "refresh"}
START = """mutation($s: SensorSelector!) {startSensor(sensorSelector: $s) {__typename}}"""
RELOAD = """mutation {reloadRepositoryLocation(repositoryLocationName: "aflite") {__typename}}"""
CANCEL = """mutation($run: String!) {terminateRun(runId: $run) {__typename}}"""
TICKS = """query($s: SensorSelector!) {sensorOrError(sensorSelector: $s) {... on Sensor {
    sensorState {ticks(limit: 3) {status skipReason error {message}}}}}}"""
RUNS = """{runsOrError {... on Runs {results {
    runId status creationTime tags {key value} assetSelection {path}}}}}"""


@pytest.fixture
def server(all_made: tuple[Path, Path], tmp_path: Path) -> Iterator[DagsterServer]:
    """`aflite web --dev` over the three datasets, whose sensor is on and has seen that nothing is due."""
    folder, results = all_made
    before = {path: path.read_bytes() for path in folder.iterdir()}
    shutil.copytree(results, tmp_path / "home" / "results")
    (tmp_path / "dagster").mkdir()
    settings = yaml.safe_load((REPOSITORY / "dagster.yaml").read_text(encoding="utf-8"))
    (tmp_path / "dagster" / "dagster.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    environment = os.environ | {
        "AFLITE_HOME": str(tmp_path / "home"),
        "AFLITE_DATASETS": str(folder),
        "DAGSTER_HOME": str(tmp_path / "dagster"),
    }
    server = DagsterServer(f"http://127.0.0.1:{free_port()}", tmp_path)
    with running_dagster(server, environment) as process:
        server.wait_until(server.answers, seconds=180, what="Dagster answers")
        assert server.ask(START, s=SENSOR)["startSensor"]["__typename"] == "Sensor"
        server.wait_until(lambda: said(server) == ["nothing is due"] * 2, seconds=240, what="two quiet looks")
        yield server
        assert process.poll() is None
    for path, content in before.items():
        path.write_bytes(content)


@pytest.mark.slow
def test_a_changed_file_runs_its_dataset_and_nothing_else(server: DagsterServer, all_made: tuple[Path, Path]) -> None:
    folder, _ = all_made
    store = ResultStore(server.root / "home" / "results")
    assert runs(server) == []
    write_table(folder / "circles_2_train.csv", rows=120, seed=9)
    os.utime(folder / "digits_train.csv")
    changed = time.time()
    run = server.wait_until(lambda: next(iter(runs(server)), None), seconds=120, what="a run of what changed")
    assert run["creationTime"] - changed < 120
    tags = {tag["key"]: tag["value"] for tag in run["tags"]}
    assert tags["dagster/partition"] == "circles_2"
    assert tags["aflite/because"].startswith("raw_dataset: file ")
    assert {key["path"][-1] for key in run["assetSelection"]} == set(STAGES)

    # The code location dies in the middle of the run and is started again.
    server.wait_until(lambda: runs(server)[0]["status"] == "STARTED", seconds=120, what="the run begins")
    for code in code_servers(server):
        os.kill(code, signal.SIGKILL)
    assert server.ask(RELOAD)["reloadRepositoryLocation"]["__typename"] == "WorkspaceLocationEntry"
    server.wait_until(lambda: up_to_date(folder, store, "circles_2"), seconds=900, what="everything is made")
    server.wait_until(lambda: said(server) == ["nothing is due"] * 2, seconds=240, what="two quiet looks")

    assert {one["status"] for one in runs(server)} == {"SUCCESS"}
    assert [one["runId"] for one in runs(server)] == [run["runId"]]
    (kept, _) = read_refreshes(store, "circles_2")
    assert (kept.what, set(kept.made)) == (f"Dagster run {run['runId']}", set(STAGES))
    for name in NAMES:
        assert up_to_date(folder, store, name)


@pytest.mark.slow
def test_a_run_that_is_cancelled_through_the_api_is_left(server: DagsterServer, all_made: tuple[Path, Path]) -> None:
    folder, _ = all_made
    write_table(folder / "circles_2_train.csv", rows=120, seed=9)
    run = server.wait_until(lambda: next(iter(runs(server)), None), seconds=120, what="a run of what changed")
    server.wait_until(lambda: runs(server)[0]["status"] == "STARTED", seconds=120, what="the run begins")
    assert server.ask(CANCEL, run=run["runId"])["terminateRun"]["__typename"] == "TerminateRunSuccess"
    server.wait_until(lambda: runs(server)[0]["status"] == "CANCELED", seconds=60, what="the run ends")

    left = f"is not retried by itself until its inputs change: run {run['runId'][:8]} was cancelled"
    server.wait_until(lambda: all(left in (why or "") for why in said(server)), seconds=180, what="two looks leave it")
    assert [one["runId"] for one in runs(server)] == [run["runId"]]

    write_table(folder / "circles_2_train.csv", rows=122, seed=10)
    server.wait_until(lambda: len(runs(server)) == 2, seconds=180, what="a run of what changed after the cancel")


def runs(server: DagsterServer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.ask(RUNS)["runsOrError"]["results"]
    return found


def said(server: DagsterServer) -> list[str | None]:
    """Of the last two looks that came to an end, newest first; a look that failed fails the test."""
    sensor = server.ask(TICKS, s=SENSOR)["sensorOrError"]
    if "sensorState" not in sensor:
        return []  # the code location is being loaded
    ticks = [tick for tick in sensor["sensorState"]["ticks"] if tick["status"] != "STARTED"]
    return [tick["skipReason"] for tick in ticks[:2]]


def up_to_date(folder: Path, store: ResultStore, dataset: str) -> bool:
    return plan_dataset(load_spec(folder / f"{dataset}.yaml"), store).up_to_date


def code_servers(server: DagsterServer) -> list[int]:
    """The processes that hold the definitions of this server, by what they are started with."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        command = process.info["cmdline"] or []
        with suppress(psutil.Error):  # it ended meanwhile, or is another user's
            if {"api", "grpc"} <= set(command) and process.environ().get("AFLITE_HOME") == str(server.root / "home"):
                found.append(process.info["pid"])
    assert found
    return found
