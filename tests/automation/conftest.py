"""Three small datasets in YAML files with all their results, and what looks at and runs them without a daemon."""

import logging
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import dagster as dg
import numpy as np
import pytest
import yaml

import definitions
from aflite_assets.assets import common
from aflite_assets.assets.steps import attempts
from aflite_assets.automation.refresh_sensor import check_all
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import ResultStore
from aflite_assets.results.file_hashes import Watch
from aflite_assets.specs import registry
from aflite_assets.specs.registry import Registry, load_registry
from aflite_assets.stages.pipeline import STAGES, run_pipeline
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource
from tests.pipeline_fixtures import permuted_four_times
from tests.small_datasets import VECTOR_SETTINGS
from tests.stages_made_here import make_here
from tests.undrawn import undrawn_figures

NAMES = ("circles_1", "circles_2", "digits")
CONTENT: dict[str, Any] = {"columns": {"features": ["a", "b", "c"]}, **VECTOR_SETTINGS}


def write_table(path: Path, *, rows: int, seed: int) -> None:
    """A CSV file of three features of two overlapping classes."""
    labels = np.arange(rows) % 2
    values = np.random.default_rng(seed).normal(size=(rows, 3)) + labels[:, None]
    lines = [f"{a:.4f},{b:.4f},{c:.4f},{label}" for (a, b, c), label in zip(values, labels, strict=True)]
    path.write_text("\n".join(["a,b,c,label", *lines]) + "\n", encoding="utf-8")


def write_dataset(folder: Path, name: str, *, seed: int) -> None:
    """A dataset's YAML file and its two tables."""
    write_table(folder / f"{name}_train.csv", rows=120, seed=seed)
    write_table(folder / f"{name}_test.csv", rows=40, seed=seed + 100)
    splits = {split: f"{name}_{split}.csv" for split in ("train", "test")}
    content = CONTENT | {"title": name, "source": {"format": "csv", "splits": splits}}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def quick_runs(few_permutations: None) -> None:
    """Labels are permuted a few times in every run of this process."""


@pytest.fixture(scope="session")
def all_made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of the three datasets' files, and that of all their results."""
    root = tmp_path_factory.mktemp("three")
    (root / "datasets").mkdir()
    for seed, name in enumerate(NAMES):
        write_dataset(root / "datasets", name, seed=seed)
        spec = registry.load_spec(root / "datasets" / f"{name}.yaml")
        with undrawn_figures(), permuted_four_times():
            run_pipeline(spec, store=ResultStore(root / "results"))
    return root / "datasets", root / "results"


@dataclass
class Deployment:
    """The datasets' folder, the store and Dagster's instance; `now` is the only clock that the looks have."""

    folder: Path
    store: ResultStore
    instance: dg.DagsterInstance
    monkeypatch: pytest.MonkeyPatch
    now: datetime = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
    cursor: str | None = None
    said: list[str] = field(default_factory=list)

    @property
    def state(self) -> RefreshState:
        return RefreshState.beside(self.store)

    def info(self, msg: str, /) -> None:
        self.said.append(msg)

    warning = error = info

    def tick(self, **options: Any) -> dg.SensorResult:
        """One look, 30 seconds after the one before; its events are kept as the daemon keeps them."""
        self.now += timedelta(seconds=30)
        watch = Watch(apart=15.0, clock=lambda: self.now.timestamp())
        log = cast(logging.Logger, self)
        result = check_all(self.instance, self.store, log, self.now, self.cursor, watch=watch, **options)
        self.cursor = result.cursor
        for event in result.asset_events:
            self.instance.report_runless_asset_event(event)
        return result

    def settled(self) -> dg.SensorResult:
        """Two looks, after which what changed has stood still."""
        self.tick()
        return self.tick()

    def run(self, request: dg.RunRequest) -> dict[str, bool]:
        """The run that was requested; of each stage that came to an end, whether it was made and not found."""
        self.monkeypatch.setattr(common, "REGISTRY", load_registry())  # a run's process reads the files anew
        job = definitions.build_definitions(
            compute_device=ComputeDevice(device="cpu"), experiment_tracker=ExperimentTracker(enabled=False)
        ).resolve_job_def("benchmark")
        done = job.execute_in_process(
            partition_key=request.partition_key,
            asset_selection=request.asset_selection,
            instance=self.instance,
            tags=dict(request.tags) | {"dagster/run_key": str(request.run_key)},
            raise_on_error=False,
        )
        events = [event.materialization for event in done.get_asset_materialization_events()]
        made = {
            one.asset_key.path[-1]: one.metadata["reused"].value is False for one in events if "reused" in one.metadata
        }
        assert set(made) <= set(STAGES)
        return made

    def edit(self, name: str, **changes: Any) -> None:
        """Change top-level fields of a dataset's file."""
        path = self.folder / f"{name}.yaml"
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        path.write_text(yaml.safe_dump(content | changes), encoding="utf-8")

    def table(self, name: str, split: str = "train") -> Path:
        """The file of a dataset's split."""
        return self.folder / f"{name}_{split}.csv"


@pytest.fixture
def deployment(
    all_made: tuple[Path, Path], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Deployment]:
    """The three datasets, all made; their files are put back afterwards. Stages are made in this process."""
    folder, results = all_made
    shutil.copytree(results, home / "results")
    before = {path: (path.read_bytes(), path.stat()) for path in folder.iterdir()}
    monkeypatch.setenv("AFLITE_DATASETS", str(folder))
    monkeypatch.setattr(attempts, "make_in_child", make_here)
    with dg.DagsterInstance.ephemeral(str(tmp_path)) as instance:
        yield Deployment(folder, ResultStore(home / "results"), instance, monkeypatch)
    for path in set(folder.iterdir()) - set(before):
        path.unlink()
    for path, (content, entry) in before.items():
        path.write_bytes(content)
        os.utime(path, ns=(entry.st_atime_ns, entry.st_mtime_ns))


__all__ = ["CONTENT", "NAMES", "Deployment", "Registry", "ResultStoreResource", "write_dataset", "write_table"]
