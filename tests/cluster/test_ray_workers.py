"""Workers of Ray on a head and two nodes of this machine: lost ones, refused ones, the lines they log.

GPUs are logical here: Ray counts them, and no card is touched.
"""

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.cluster import ClusterSettings, Needs, Work, map_in_order, map_or_share, open_cluster
from aflite_assets.cluster.protocol import Cluster, Log
from aflite_assets.errors import DataError, MemoryRanOutError, WorkerLostError

pytest.importorskip("ray", reason="Ray is an extra: aflite-assets[ray]")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(three_nodes: Any, logged: list[str]) -> Iterator[Cluster]:
    with open_cluster(ClusterSettings("ray", three_nodes.address, cpus=1), log=logged.append) as opened:
        yield opened


@pytest.fixture(scope="module")
def logged() -> list[str]:
    return []


def _scaled() -> Work:
    def work(item: int, common: np.ndarray, log: Log) -> float:
        log(f"item {item} in {os.getpid()}")
        assert not common.flags.writeable
        return float(item * common.sum())

    return work


def test_answers_in_order_and_lines_on_the_way(cluster: Cluster, logged: list[str]) -> None:
    assert logged[0].split("; ")[0].endswith("3 nodes, 2 cores, 2 GPUs")
    lines = list[str]()
    with cluster.workers(_scaled, needs=Needs(), log=lines.append) as workers:
        assert workers.count == 2
        answers: list[float] = list(
            map_in_order(workers, range(8), common=cluster.share(np.ones(1000)), log=lines.append)
        )
    assert answers == [1000.0 * item for item in range(8)]
    assert sorted(int(line.split()[1]) for line in lines) == list(range(8))
    assert 1 <= len({line.split()[-1] for line in lines}) <= 2


def _dying(marks: Path, always: bool) -> Work:
    def work(item: int, common: object, log: Log) -> int:
        if item == 3 and (always or not (marks / "died").exists()):
            (marks / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    return work


def test_what_a_killed_worker_held_goes_to_another(cluster: Cluster, tmp_path: Path) -> None:
    lines = list[str]()
    with cluster.workers(partial(_dying, tmp_path, False), needs=Needs(), log=lines.append) as workers:
        assert list(map_in_order(workers, range(6), log=lines.append)) == [0, 1, 2, 3, 4, 5]
    assert [line for line in lines if line.startswith("a worker was lost: The actor died unexpectedly")]


def test_work_that_ends_every_worker_is_given_up(cluster: Cluster, tmp_path: Path) -> None:
    with (
        cluster.workers(partial(_dying, tmp_path, True), needs=Needs(), log=lambda line: None) as workers,
        pytest.raises(WorkerLostError, match=r"4 workers were lost one after another with the same item"),
    ):
        workers.call(3, log=lambda line: None)


def _failing(item: str, common: object, log: Log) -> None:
    if item == "data":
        raise DataError("labels are 0 to 2; row 7 has 3")
    if item == "memory":
        raise MemoryError("Unable to allocate 3 GiB")
    raise KeyError(item)


@pytest.mark.parametrize(
    ("item", "error", "message"),
    [
        ("data", DataError, "^labels are 0 to 2; row 7 has 3$"),
        (
            "memory",
            MemoryRanOutError,
            r"^memory ran out on .* \(MemoryError: Unable to allocate 3 GiB\); lower batch_size",
        ),
        ("other", RuntimeError, "^KeyError: 'other'$"),
    ],
)
def test_errors_keep_their_kind(cluster: Cluster, item: str, error: type[Exception], message: str) -> None:
    with cluster.workers(lambda: _failing, needs=Needs(), log=print) as workers, pytest.raises(error, match=message):
        workers.call(item, log=print)


def _cards(item: int, common: object, log: Log) -> str:
    time.sleep(0.5)
    return os.environ.get("CUDA_VISIBLE_DEVICES", "")


def test_each_worker_of_models_has_a_card_of_its_own(cluster: Cluster) -> None:
    with cluster.workers(lambda: _cards, needs=Needs(gpu=True), log=print) as workers:
        assert workers.count == 2
        seen: list[str] = list(map_in_order(workers, range(4), log=print))
    assert set(seen) == {"0"}  # each node has one card, which is number 0 there


def _sum_of(shared: Any) -> Work:
    features = shared.get()
    return lambda rows, common, log: (float(features[rows].sum()), type(features).__name__)


def test_large_arrays_are_mapped_or_sent_once(cluster: Cluster, tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", np.arange(200_000, dtype=np.float32).reshape(-1, 10))
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    for array, kind in ((mapped, "memmap"), (np.array(mapped), "ndarray")):
        with cluster.workers(partial(_sum_of, map_or_share(cluster, array)), needs=Needs(), log=print) as workers:
            assert workers.call(slice(0, 2), log=print) == (190.0, kind)
