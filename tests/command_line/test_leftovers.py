"""What is left of a deleted YAML file: `aflite status` names it, and `aflite prune` removes it after a question."""

import io
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import definitions
from aflite_assets.automation.instance import prepare_instance
from aflite_assets.command_line.main import main
from aflite_assets.command_line.terminal import size
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore
from aflite_assets.results.refresh_records import record_refresh
from aflite_assets.specs.registry import BUNDLED

HEAD = "leftovers of datasets without a YAML file (`aflite prune` removes them after a confirmation):\n"


def write(draft: Draft) -> Mapping[str, Any]:
    (draft.path / "rows.txt").write_bytes(b"0" * 100_000)
    return {}


@pytest.fixture
def store(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResultStore:
    """Results of `ours`, which has a file, and of `deleted`, which has none; each was refreshed."""
    folder = tmp_path / "datasets"
    folder.mkdir()
    shutil.copy(BUNDLED / "circles_1.yaml", folder / "ours.yaml")
    monkeypatch.setenv("AFLITE_DATASETS", str(folder))
    store = ResultStore(home / "results")
    for name in ("ours", "deleted"):
        for stage in ("raw_dataset", "published_dataset"):
            record_refresh(store, [publish(store, name, stage)], what="test")
    return store


def publish(store: ResultStore, name: str, stage: str) -> PublishedResult:
    return store.get_or_create(stage, name, ResultKey("1", {}, {}), write).result


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dg.DagsterInstance:
    """An instance that lists both datasets and has a queued run of each."""
    folder = tmp_path / "dagster"
    monkeypatch.setenv("DAGSTER_HOME", str(folder))
    prepare_instance(folder)
    instance = dg.DagsterInstance.get()
    instance.add_dynamic_partitions("aflite_dataset", ["ours", "deleted"])
    for name in ("ours", "deleted"):
        instance.create_run_for_job(
            definitions.defs.resolve_job_def("benchmark"),
            tags={"dagster/partition": name},
        )
    return instance


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(f"{text}\n"))


def test_status_names_results_queued_runs_and_the_partition(
    store: ResultStore, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status"]) == 0
    said = capsys.readouterr().out
    left = f"{size(store.size('deleted'))} of results, 1 queued run, a partition that Dagster lists"
    assert said.endswith(f"\n\n{HEAD}  deleted: {left}\n")

    assert main(["status", "ours"]) == 0
    assert "deleted" not in capsys.readouterr().out


def test_without_dagster_status_names_the_results(store: ResultStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 0
    assert capsys.readouterr().out.endswith(f"{HEAD}  deleted: {size(store.size('deleted'))} of results\n")


def test_prune_removes_all_of_it_once_a_person_agrees(
    store: ResultStore,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer(monkeypatch, "")
    assert main(["prune"]) == 0
    assert store.datasets() == {"ours", "deleted"}
    assert "Remove all leftovers permanently? [y/N] nothing to remove\n" in capsys.readouterr().out

    assert main(["prune", "--dry-run"]) == 0
    would = capsys.readouterr().out
    left = f"{size(store.size('deleted'))} of results, 1 queued run, a partition that Dagster lists"
    assert would.startswith(f"{HEAD}  deleted: {left}\nwould be removed:\n")
    assert "folders of deleted datasets  2" in would
    assert store.datasets() == {"ours", "deleted"}

    answer(monkeypatch, "y")
    assert main(["prune"]) == 0
    assert would.splitlines()[3:6] == capsys.readouterr().out.split("removed:\n")[1].splitlines()[:3]
    assert store.datasets() == {"ours"}
    assert store.current_key("raw_dataset", "ours") is not None
    assert instance.get_dynamic_partitions("aflite_dataset") == ["ours"]
    statuses = {run.tags["dagster/partition"]: run.status for run in instance.get_runs()}
    assert statuses == {"ours": dg.DagsterRunStatus.NOT_STARTED, "deleted": dg.DagsterRunStatus.CANCELED}
    assert main(["status"]) == 0
    assert "deleted" not in capsys.readouterr().out


def test_where_nobody_can_be_asked_it_stays_unless_the_command_agrees(
    store: ResultStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert main(["prune"]) == 0
    assert (
        "kept, because there is no terminal for a confirmation; `aflite prune --yes` removes the leftovers\n"
        in capsys.readouterr().out
    )
    assert store.datasets() == {"ours", "deleted"}
    assert main(["prune", "--yes"]) == 0
    assert store.datasets() == {"ours"}


@pytest.mark.parametrize("reason", ["pinned", "being run", "folder away", "no folder named"])
def test_what_may_still_be_wanted_stays(
    store: ResultStore, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason == "folder away":
        (tmp_path / "datasets").rename(tmp_path / "away")
    if reason == "no folder named":
        monkeypatch.delenv("AFLITE_DATASETS")
    if reason == "pinned":
        assert main(["pin", "deleted.published_dataset"]) == 0
    if reason == "being run":
        with store.dataset_lock("deleted", what="aflite refresh"):
            assert main(["prune", "--yes"]) == 0
    else:
        assert main(["prune", "--yes"]) == 0
    assert store.current("published_dataset", "deleted").file("rows.txt").stat().st_size == 100_000
    made = {stage for stage, name, _ in store.partitions() if name == "deleted"}
    assert made == ({"published_dataset"} if reason == "pinned" else {"published_dataset", "raw_dataset"})
