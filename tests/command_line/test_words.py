"""What `aflite plan`, `status` and `pin` say of datasets that grow, are being run, or are named wrongly."""

import json
import re
from pathlib import Path

import dagster as dg
import pytest

import definitions
from aflite_assets.automation import runs_of_datasets
from aflite_assets.command_line import refresh_commands
from aflite_assets.command_line.main import main
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import load_registry
from aflite_assets.stages.pipeline import STAGES, run_stage
from tests.automation.conftest import write_dataset, write_table


@pytest.fixture
def table(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The train table of the dataset `points`, 120 rows, of which `raw_dataset` was made."""
    folder = tmp_path / "datasets"
    folder.mkdir()
    write_dataset(folder, "points", seed=1)
    monkeypatch.setenv("AFLITE_DATASETS", str(folder))
    run_stage("raw_dataset", load_registry()["points"], store=ResultStore(home / "results"))
    return folder / "points_train.csv"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(list(arguments))
    return capsys.readouterr().out


@pytest.mark.parametrize(("rows", "words"), [(1280, "1,280 rows, 1,160 new"), (110, "110 rows, 10 fewer")])
def test_plan_counts_the_rows_that_were_added(
    table: Path, rows: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(table, rows=rows, seed=1)
    out = said(capsys, "plan", "points")
    assert re.search(r"points +raw_dataset +to make +[\d.]+ m?s +file ", out)
    assert re.search(rf"  points: make raw_dataset, then later stages \(at most 15\)[^\n]*; train has {words}\n", out)


def test_plan_counts_no_rows_where_none_were_added_or_the_tables_are_large(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(table, rows=120, seed=2)
    assert " rows" not in said(capsys, "plan", "points")
    write_table(table, rows=140, seed=2)
    assert "; train has 140 rows, 20 new" in said(capsys, "plan", "points")
    monkeypatch.setattr(refresh_commands, "MOST_BYTES", 100)
    assert " rows" not in said(capsys, "plan", "points")


def test_plan_names_a_table_that_cannot_be_read(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table.write_text("a,b\n1\n2,3,4\n", encoding="utf-8")
    out = said(capsys, "plan", "points")
    assert "make raw_dataset" in out
    assert f"; its new rows cannot be counted: '{table}' cannot be read as csv: line 2: 1 values" in out


def test_plan_says_that_a_dataset_is_being_run(table: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(table, rows=140, seed=1)
    with ResultStore(home / "results").dataset_lock("points", what="Dagster run 7"):
        out = said(capsys, "plan", "points")
        (facts,) = json.loads(said(capsys, "plan", "points", "--json"))
    waits = "  points: wait for Dagster run 7, process "
    outlook = out.split("a refresh now would:\n")[1]
    assert outlook.startswith(waits)
    assert outlook.endswith("; train has 140 rows, 20 new\n")
    assert facts["run_by"].startswith("Dagster run 7, process ")
    (facts,) = json.loads(said(capsys, "plan", "points", "--json"))
    assert facts["run_by"] is None


def test_status_as_json(table: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (table.parent / "broken.yaml").write_text("title: [", encoding="utf-8")
    assert main(["pause", "--reason", "moving disks"]) == 0
    capsys.readouterr()
    whole = json.loads(said(capsys, "status", "--json"))
    assert set(whole) == {"paused", "datasets", "deleted"}
    assert whole["paused"].endswith("moving disks; `aflite resume` continues them")
    assert whole["deleted"] == {}
    broken, points = whole["datasets"]
    assert (broken["dataset"], broken["stages"]) == ("broken", {})
    assert "broken.yaml: line 1" in broken["failure"]
    assert (points["dataset"], points["failure"]) == ("points", None)
    assert list(points["stages"]) == list(STAGES)
    assert points["stages"]["raw_dataset"] == "found"
    assert points["stages"]["analysis"] == "never made"
    assert points["size"] == ResultStore(home / "results").size("points")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00:00", points["made"])
    (table.parent / "points.yaml").unlink()
    assert list(json.loads(said(capsys, "status", "--json"))["deleted"]) == ["points"]


def test_status_names_a_run_that_failed_before_its_first_stage(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_dataset(table.parent, "never_made", seed=2)
    (tmp_path / "dagster").mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))

    @dg.resource
    def unreachable(_: object) -> None:
        raise RuntimeError("no such\nserver")

    @dg.asset(required_resource_keys={"tracker"}, partitions_def=dg.StaticPartitionsDefinition(["never_made"]))
    def raw_dataset() -> None: ...

    with dg.DagsterInstance.get() as instance:
        resources = {"tracker": unreachable}
        dg.materialize(
            [raw_dataset], partition_key="never_made", instance=instance, resources=resources, raise_on_error=False
        )
        (run,) = instance.get_runs()
    out = said(capsys, "status")
    assert (
        "needs you:\n  never_made: raw_dataset: it is not retried by itself until its inputs change: run "
        f"{run.run_id[:8]} failed: RuntimeError: no such; start it with "
        "`aflite refresh never_made`\n"
    ) in out
    assert "  points: " not in out


def test_plan_and_status_wait_for_a_retry_until_it_must_have_come(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dagster").mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setattr(runs_of_datasets, "started_elsewhere", lambda run: True)
    with dg.DagsterInstance.get() as instance:
        tags = {"dagster/partition": "points", "dagster/will_retry": "true"}
        run = instance.create_run_for_job(definitions.defs.resolve_job_def("benchmark"), tags=tags)
        instance.report_run_failed(run)
    retry = f"the retry of run {run.run_id}"
    assert f"  points: wait for {retry}, which Dagster announced" in said(capsys, "plan", "points")
    status = said(capsys, "status", "points")
    assert f"continues later by itself:\n  points: waits for {retry}, which Dagster announced\n" in status
    assert "needs you" not in status

    monkeypatch.setattr(runs_of_datasets, "RETRY_SECONDS", 0.0)
    until = "Dagster starts the announced retry or its inputs change"
    left = f"is not retried by itself until {until}: run {run.run_id[:8]} failed: "
    assert left in said(capsys, "plan", "points")
    status = said(capsys, "status", "points")
    assert left in status.split("needs you:\n")[1]
    assert retry not in status


@pytest.mark.parametrize("command", ["pin", "unpin"])
def test_a_stage_that_does_not_exist_is_named(table: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "points.raw_datset"]) == 1
    message = (
        "there is no stage 'raw_datset'; did you mean 'raw_dataset'? (received 'points.raw_datset'); name one of "
        "the stages "
    )
    assert capsys.readouterr().err.startswith(f"{message}raw_dataset, ")
