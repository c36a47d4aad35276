"""With a real daemon: a run whose process is killed is started again before the runs that wait behind it."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.running_dagster import REPOSITORY, DagsterServer, free_port, running_dagster
from tests.small_datasets import circles

NAMES = ("first", "second", "third", "fourth")
LAUNCH = """mutation($e: ExecutionParams!) {launchPipelineExecution(executionParams: $e) {
    __typename ... on LaunchRunSuccess {run {runId}} ... on PythonError {message}}}"""
RUNS = """{runsOrError {... on Runs {results {runId status startTime tags {key value}}}}}"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DagsterServer]:
    """`aflite web --dev` over four datasets, which runs one at a time."""
    for name in ("home", "dagster", "datasets"):
        (tmp_path / name).mkdir()
    settings = yaml.safe_load((REPOSITORY / "dagster.yaml").read_text(encoding="utf-8"))
    settings["concurrency"]["runs"]["max_concurrent_runs"] = 1
    (tmp_path / "dagster" / "dagster.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    for name in NAMES:
        (tmp_path / "datasets" / f"{name}.yaml").write_text(yaml.safe_dump(circles(name)), encoding="utf-8")
    environment = os.environ | {
        "AFLITE_HOME": str(tmp_path / "home"),
        "AFLITE_DATASETS": str(tmp_path / "datasets"),
        "DAGSTER_HOME": str(tmp_path / "dagster"),
    }
    server = DagsterServer(f"http://127.0.0.1:{free_port()}", tmp_path)
    with running_dagster(server, environment) as process:
        server.wait_until(server.answers, seconds=180, what="Dagster answers")
        yield server
        assert process.poll() is None


@pytest.mark.slow
def test_a_killed_run_keeps_its_turn(server: DagsterServer) -> None:
    for name in NAMES:
        _launch(server, name)
    killed = server.wait_until(lambda: _started(server), seconds=120, what="the first run has begun")
    assert killed["tags"]["dagster/partition"] == "first"
    os.kill(yaml.safe_load(killed["tags"]["aflite/process"])["pid"], signal.SIGKILL)
    at = time.time()
    retry = server.wait_until(lambda: _started(server, but=killed["runId"]), seconds=120, what="the next run begins")
    assert retry["tags"]["dagster/parent_run_id"] == killed["runId"]
    assert retry["startTime"] - at < 60
    # Its turn only: the others follow in their own order.
    runs = server.wait_until(lambda: _all_ended(server), seconds=600, what="all runs ended")
    order = sorted((run for run in runs if run["runId"] != killed["runId"]), key=lambda run: run["startTime"])
    assert [run["tags"]["dagster/partition"] for run in order] == list(NAMES)
    assert {run["status"] for run in order} == {"SUCCESS"}


def _launch(server: DagsterServer, name: str) -> None:
    selector = {"repositoryName": "__repository__", "repositoryLocationName": "aflite", "pipelineName": "benchmark"}
    tags = [{"key": "dagster/partition", "value": name}]
    given = {"selector": selector, "mode": "default", "executionMetadata": {"tags": tags}}
    answer = server.ask(LAUNCH, e=given)["launchPipelineExecution"]
    assert answer["__typename"] == "LaunchRunSuccess", answer


def _runs(server: DagsterServer) -> list[dict[str, Any]]:
    found = server.ask(RUNS)["runsOrError"]["results"]
    return [{**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in found]


def _started(server: DagsterServer, *, but: str = "") -> dict[str, Any] | None:
    """The run that is under way and has said which process carries it out."""
    return next(
        (
            run
            for run in _runs(server)
            if run["status"] == "STARTED" and run["runId"] != but and "aflite/process" in run["tags"]
        ),
        None,
    )


def _all_ended(server: DagsterServer) -> list[dict[str, Any]] | None:
    runs = _runs(server)
    return runs if len(runs) == 5 and all(run["status"] in ("SUCCESS", "FAILURE") for run in runs) else None
