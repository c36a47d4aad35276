"""The schedule: a run of what was made of each dataset, and of no other, unless its file or a pause forbids it."""

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
import yaml

import definitions
from aflite_assets.automation.nightly import begun, nightly
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import ResultKey, ResultStore
from aflite_assets.specs.registry import BUNDLED, load_spec
from aflite_assets.stages.pipeline import STAGES
from resources import ResultStoreResource

AT = datetime(2026, 5, 4, 3, 0, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Bundled circles in files of their own, the only datasets that are listed."""
    folder = tmp_path / "datasets"
    folder.mkdir()
    for name in ("circles_1", "circles_2"):
        write(folder, name)
    monkeypatch.setenv("AFLITE_DATASETS", str(folder))
    return folder


def write(folder: Path, name: str, **changes: object) -> None:
    content = yaml.safe_load((BUNDLED / f"{name}.yaml").read_text(encoding="utf-8")) | changes
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    load_spec(folder / f"{name}.yaml")


def publish(store: ResultStore, stage: str, dataset: str) -> None:
    store.get_or_create(stage, dataset, ResultKey("1", {}, {}), lambda draft: {})


def requested(tmp_path: Path) -> dict[str, list[str]]:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        context = dg.build_schedule_context(
            instance=instance,
            scheduled_execution_time=AT,
            resources={"result_store": ResultStoreResource()},
            repository_def=definitions.defs.get_repository_def(),
        )
        found = nightly.evaluate_tick(context).run_requests or []
    assert all(one.tags["aflite/refresh"] == one.run_key for one in found)
    return {str(one.partition_key): [key.path[-1] for key in one.asset_selection or ()] for one in found}


def test_it_is_off_at_first() -> None:
    assert nightly.default_status == dg.DefaultScheduleStatus.STOPPED
    assert (nightly.cron_schedule, nightly.execution_timezone) == ("0 3 * * *", "UTC")


def test_what_was_begun_is_run_and_nothing_else(folder: Path, home: Path, tmp_path: Path) -> None:
    store = ResultStore(home / "results")
    assert requested(tmp_path) == {}
    publish(store, "embeddings", "circles_1")
    assert begun(store, "circles_1") == ["raw_dataset", "train_sample", "warmup_split", "warmup_models", "embeddings"]
    assert requested(tmp_path) == {"circles_1": begun(store, "circles_1")}
    write(folder, "circles_2", refresh={"start": True})
    assert len(requested(tmp_path)["circles_2"]) == len(STAGES)


def test_a_file_and_a_pause_are_heard(folder: Path, home: Path, tmp_path: Path) -> None:
    store = ResultStore(home / "results")
    state = RefreshState.beside(store)
    for name in ("circles_1", "circles_2"):
        publish(store, "raw_dataset", name)
    write(folder, "circles_2", refresh="never")
    assert list(requested(tmp_path)) == ["circles_1"]
    write(folder, "circles_1", refresh={"cron": "0 2 * * 0"})  # Sundays; this is a Monday, and it was acted on
    assert list(requested(tmp_path)) == []
    write(folder, "circles_1")
    state.pause(reason="maintenance", now=AT)
    assert requested(tmp_path) == {}
