"""Stages whose work is spread over workers give the data versions that one process gives."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm.linear.engine import preparation
from aflite_assets.cluster import Cluster, ClusterSettings
from aflite_assets.cluster.local import LocalCluster
from aflite_assets.cluster.protocol import Log
from aflite_assets.errors import ClusterError, MemoryRanOutError, StoreError
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages import pipeline
from aflite_assets.stages.embedding import spread_encoding
from aflite_assets.stages.embedding.spread_encoding import Shard, missing_shards
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.stages.shared import training_workers
from aflite_assets.stages.stage import Progress
from tests.small_datasets import SMALL_TRANSFORMER, template_pairs

TEXTS = template_pairs(
    train=700, test=150, warmup=100, target_size=300, slice_size=0.2, n_partitions=6, threshold=0.6
) | {
    "evaluators": {"small": SMALL_TRANSFORMER | {"epochs": 1}, "linear": {"kind": "linear"}},
    "seeds": [0],
}
STAGES = (
    "raw_dataset",
    "challenge_sets",
    "cue_scan",
    "train_sample",
    "warmup_split",
    "warmup_models",
    "embeddings",
    "filtered_sets",
    "control_sets",
    "forgettable_sets",
    "leaning_sets",
    "evaluator_models",
)


THREE = ClusterSettings("ray", "local")


@contextmanager
def opened(settings: ClusterSettings, *, log: Log) -> Iterator[Cluster]:
    """Three workers of this process, where a cluster is asked for."""
    yield LocalCluster(spreads=settings.is_ray, count=3)


def walked(
    folder: Path, cluster: ClusterSettings, *, until: str = STAGES[-1]
) -> tuple[dict[str, str], list[str], ResultStore]:
    """The stages' data versions up to this one's, what was logged, and the store."""
    spec, store, logged = parse_spec(TEXTS), ResultStore(folder), list[str]()
    progress = Progress(logged.append)
    names = STAGES[: STAGES.index(until) + 1]
    made = {name: run_stage(name, spec, store=store, cluster=cluster, progress=progress).result for name in names}
    return {name: result.data_version for name, result in made.items()}, logged, store


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of any size are spread, in shards of one batch."""
    monkeypatch.setattr(preparation, "_is_small", lambda inputs, settings: False)
    monkeypatch.setattr(spread_encoding, "SHARD_BATCHES", 1)
    monkeypatch.setattr(pipeline, "open_cluster", opened)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], Path]:
    """The data versions of one process, and the folder of its results; to be read alone."""
    folder = tmp_path_factory.mktemp("here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparation, "_is_small", lambda inputs, settings: False)
        return walked(folder, ClusterSettings())[0], folder


def test_a_spread_benchmark_gives_the_same_data_versions(here: tuple[dict[str, str], Path], tmp_path: Path) -> None:
    spread, logged, store = walked(tmp_path, THREE)
    assert spread == here[0]
    assert "embeddings of small: 750 of 750 rows" in logged
    assert not list(store.root.rglob("*.tmp"))


def test_workers_with_too_little_memory_get_less(
    here: tuple[dict[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread_encoding, "SHARD_BATCHES", 16)
    encode, shards = spread_encoding._encode, list[int]()

    def short_of_memory(raw: Any, load: Any, shard: Shard, row_ids: np.ndarray, log: Log) -> int:
        if shard.stop - shard.start > 256:
            raise MemoryRanOutError(f"memory ran out on node1 with {shard.stop - shard.start} rows")
        shards.append(shard.start)
        return encode(raw, load, shard, row_ids, log)

    monkeypatch.setattr(spread_encoding, "_encode", short_of_memory)
    spread, logged, _ = walked(tmp_path, THREE, until="embeddings")
    assert spread["embeddings"] == here[0]["embeddings"]
    assert sorted(shards) == [0, 256, 512]
    assert "memory ran out on node1 with 750 rows; the item is processed again in 2 parts" in logged


def test_a_cluster_without_workers_fails_the_grid_and_not_its_cells(
    here: tuple[dict[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in STAGES[:-1]:
        shutil.copytree(here[1] / name, tmp_path / name)

    def gone(*given: Any) -> Any:
        raise ClusterError("no worker with 1 cores has started in 120 seconds")

    monkeypatch.setattr(training_workers, "_train_anew", gone)
    with pytest.raises(ClusterError, match="no worker with 1 cores"):
        walked(tmp_path, THREE)


def test_what_an_interrupted_extraction_lacks(tmp_path: Path) -> None:
    for start, stop in ((0, 256), (512, 1024)):
        Shard(start, stop, tmp_path).path.touch()
    assert [(shard.start, shard.stop) for shard in missing_shards(tmp_path, 1500)] == [
        (256, 512),
        (1024, 1280),
        (1280, 1500),
    ]


def test_halves_are_whole_batches() -> None:
    folder = Path("shards")
    assert Shard(256, 1100, folder).halves() == [Shard(256, 768, folder), Shard(768, 1100, folder)]
    assert Shard(256, 512, folder).halves() == []


def test_joining_that_is_interrupted_leaves_the_file_of_a_run_without_a_cluster(tmp_path: Path) -> None:
    """Its mark says how many of the rows in that file can be trusted."""
    target, folder = tmp_path / "features.npy", tmp_path / "shards"
    folder.mkdir()
    np.save(target, np.full((6, 2), 7.0, np.float32))
    before = target.read_bytes()
    np.savez(Shard(0, 4, folder).path, features=np.ones((4, 2), np.float32), own=np.ones(4, np.float32))
    last = Shard(4, 6, folder).path
    last.write_bytes(b"torn")
    with pytest.raises(StoreError, match=r"000000000004-000000000006\.npz holds no encoded rows"):
        spread_encoding._joined(folder, 6, target)
    assert target.read_bytes() == before
    np.savez(last, features=np.full((2, 2), 2.0, np.float32), own=np.zeros(2, np.float32))
    features, own = spread_encoding._joined(folder, 6, target)
    np.testing.assert_array_equal(features, [[1, 1]] * 4 + [[2, 2]] * 2)
    np.testing.assert_array_equal(np.load(target), features)
    np.testing.assert_array_equal(own, [1, 1, 1, 1, 0, 0])
