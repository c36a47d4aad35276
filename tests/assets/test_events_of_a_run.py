"""A run whose stages are made in one child process tells Dagster what a run tells that makes them itself."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from aflite_assets.assets import data, embedding, filtering, warmup
from aflite_assets.assets.steps import attempts
from aflite_assets.stages import child_process
from aflite_assets.stages.child_process import make_in_child
from aflite_assets.studies import parts
from resources import ExperimentTracker, ResultStoreResource
from tests.assets.made import few_circles, materialize, register, resources
from tests.forked import ForkedChild
from tests.stages_made_here import make_here

STEPS = [
    "raw_dataset", "challenge_sets", "train_sample", "warmup_split", "warmup_models", "embeddings", "filtered_sets",
]  # fmt: skip
ASSETS = [
    asset
    for asset in (
        *dg.load_assets_from_modules([data, warmup, embedding, filtering]),
        *parts("assets.assets", dg.AssetsDefinition),
    )
    if isinstance(asset, dg.AssetsDefinition) and asset.key.path[-1] in STEPS
]


def test_every_event_and_line_is_there(home: Path, template_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "ChildProcess", ForkedChild)
    content = few_circles(200, 100)
    content["filter"]["n_partitions"] = 8
    register(monkeypatch, content)
    for name in ("child", "here"):
        (home / name).mkdir(parents=True)
        shutil.copy(template_database, home / name / "mlflow.db")
    in_child = _told(make_in_child, home / "child", monkeypatch)
    here = _told(make_here, home / "here", monkeypatch)
    assert len(here) > 150
    assert in_child == here


def _told(make: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Every event of a run in its order, without what differs between any two runs: times, paths, ids."""
    monkeypatch.setattr(attempts, "make_in_child", make)
    given = resources(
        result_store=ResultStoreResource(home=str(folder)),
        experiment_tracker=ExperimentTracker(tracking_uri=f"sqlite:///{folder}/mlflow.db"),
    )
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialize(ASSETS, selection=STEPS, instance=instance, resources=given)
        assert result.success
        return [_normal(entry, folder) for entry in instance.all_logs(result.run_id)]


def _normal(entry: dg.EventLogEntry, folder: Path) -> tuple[str, ...]:
    event = entry.dagster_event
    kind = "" if event is None else str(event.event_type_value)
    parts: dict[str, Any] = {}
    if event is not None and event.is_step_materialization:
        metadata = event.step_materialization_data.materialization.metadata
        parts = {name: type(value).__name__ for name, value in metadata.items()}
    if event is not None and kind == "ASSET_CHECK_EVALUATION":
        check = event.asset_check_evaluation_data
        parts = {"check": check.check_name, "passed": check.passed, **dict.fromkeys(check.metadata, "")}
    text = entry.user_message.replace(str(folder), "FOLDER")
    text = re.sub(r"(\d+m)?\d+(\.\d+)?m?s\b|pid: \d+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "N", text)
    return (kind, entry.step_key or "", text, str(sorted(parts.items())))
