"""Nodes and the head of a Ray cluster killed on the way: a benchmark ends with the bits of one undisturbed process."""

from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from aflite_assets.cluster import ClusterSettings
from aflite_assets.errors import WorkerLostError
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.child_process import StageJob, make_in_child
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.stages.stage import Progress
from tests.cluster.conftest import Nodes
from tests.small_datasets import SMALL_TRANSFORMER, template_pairs

pytest.importorskip("ray", reason="Ray is an extra: aflite-assets[ray]")
pytestmark = pytest.mark.slow

BEFORE = ("raw_dataset", "challenge_sets", "train_sample", "warmup_split", "warmup_models")
AFTER = ("embeddings", "filtered_sets", "control_sets", "forgettable_sets", "evaluator_models")
LARGER = SMALL_TRANSFORMER | {"width": 32}


def content() -> dict[str, Any]:
    """Four shards to encode, some iterations of seconds, and cells of several epochs."""
    filtering: dict[str, Any] = {"target_size": 0.4, "n_partitions": 32, "slice_size": 0.15, "threshold": 0.3}
    pairs = template_pairs(train=17000, test=500, warmup=1000, **filtering)
    return pairs | {"representations": {"small": LARGER}, "evaluators": {"small": LARGER | {"epochs": 3}}, "seeds": [0]}


@pytest.fixture(scope="module")
def spec() -> DatasetSpec:
    return parse_spec(content())


def walked(spec: DatasetSpec, root: Path, cluster: ClusterSettings, log: Callable[[str], None]) -> dict[str, str]:
    """Data versions of all stages; those that every run has in common are made here."""
    store, progress = ResultStore(root), Progress(log, lambda report: None)
    made = {name: run_stage(name, spec, store=store, progress=progress).result for name in BEFORE}
    made |= {name: run_stage(name, spec, store=store, cluster=cluster, progress=progress).result for name in AFTER}
    return {name: result.data_version for name, result in made.items()}


@pytest.fixture(scope="module")
def undisturbed(spec: DatasetSpec, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The data versions of one process without a cluster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AFLITE_THREADS", "1")
        return walked(spec, tmp_path_factory.mktemp("here"), ClusterSettings(), lambda line: None)


def test_a_node_killed_in_extraction_in_an_iteration_and_in_a_cell(
    three_nodes: Nodes, spec: DatasetSpec, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    moments = {"embeddings of small: 4096 of": 0.0, "filtering small, iteration 000": 0.3, "epoch 1 of 3": 0.0}
    lines, due = list[str](), dict(moments)

    def log(line: str) -> None:
        lines.append(line)
        for moment in [moment for moment in due if moment in line]:
            Timer(due.pop(moment), three_nodes.kill).start()

    def walk(stages: tuple[str, ...]) -> dict[str, str]:
        store, progress = ResultStore(tmp_path), Progress(log, lambda report: None)
        cluster = ClusterSettings("ray", three_nodes.address, cpus=1)
        return {
            name: run_stage(name, spec, store=store, cluster=cluster, progress=progress).result.data_version
            for name in stages
        }

    versions = walk(BEFORE)
    for name in AFTER:
        while len(three_nodes.nodes) < 2:
            three_nodes.add()
        versions |= walk((name,))
    assert not due
    assert versions == undisturbed
    lost = [line for line in lines if line.startswith("a worker was lost")]
    assert len(lost) >= 3, lines


def test_without_its_head_the_step_fails_with_a_reason_and_resumes(
    three_nodes: Nodes, spec: DatasetSpec, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    store, lines = ResultStore(tmp_path), list[str]()
    progress = Progress(lines.append, lambda report: None)
    for name in BEFORE:
        run_stage(name, spec, store=store, progress=progress)
    cluster = ClusterSettings("ray", three_nodes.address, cpus=1)
    run_stage("embeddings", spec, store=store, cluster=cluster, progress=progress)

    def log(line: str) -> None:
        lines.append(line)
        if "iteration 001" in line:
            three_nodes.kill_head()

    job = StageJob("filtered_sets", spec, store, cluster=cluster)
    with pytest.raises(WorkerLostError, match=r"the Ray cluster at .* ends the process when its head node is lost"):
        make_in_child(job, progress=Progress(log, lambda report: None))
    resumed = run_stage("filtered_sets", spec, store=store, progress=progress)
    assert [line for line in lines if "resumes at iteration" in line]
    assert resumed.result.data_version == undisturbed["filtered_sets"]
