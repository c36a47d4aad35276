"""Workers of this process, the order of answers, and arrays that stay in their file."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from aflite_assets.cluster import Needs, Work, map_in_order, map_or_share
from aflite_assets.cluster.arrays import MappedArray
from aflite_assets.cluster.local import LocalCluster
from aflite_assets.cluster.protocol import Log
from aflite_assets.errors import MemoryRanOutError


def test_answers_come_in_order_from_workers_made_once() -> None:
    made = list[int]()

    def make() -> Work:
        made.append(len(made))
        return lambda item, common, log: item * common

    cluster = LocalCluster(spreads=True, count=2)
    with cluster.workers(make, needs=Needs(), log=print) as workers:
        assert list(map_in_order(workers, range(6), common=cluster.share(10), log=print)) == [0, 10, 20, 30, 40, 50]
    assert 1 <= len(made) <= 2


def test_the_first_error_is_raised_and_no_further_item_begun() -> None:
    begun = list[int]()

    def work(item: int, common: object, log: Log) -> int:
        begun.append(item)
        if item == 1:
            raise ValueError("row 1 is not a number")
        time.sleep(0.02)
        return item

    with LocalCluster(spreads=True).workers(lambda: work, needs=Needs(), log=print) as workers:
        answers: Iterator[int] = map_in_order(workers, range(50), log=print)
        with pytest.raises(ValueError, match="row 1 is not a number"):
            list(answers)
    assert len(begun) < 50


def test_memory_that_never_suffices_ends_it() -> None:
    logged = list[str]()

    def work(item: range, common: object, log: Log) -> int:
        raise MemoryRanOutError(f"memory ran out with {len(item)}")

    def halves(item: range) -> list[range]:
        return [item[: len(item) // 2], item[len(item) // 2 :]] if len(item) > 1 else []

    with (
        LocalCluster(spreads=True).workers(lambda: work, needs=Needs(), log=print) as workers,
        pytest.raises(MemoryRanOutError, match=r"memory ran out with 1$"),
    ):
        list(map_in_order(workers, [range(4)], log=logged.append, halves=halves))
    again = "the item is processed again in 2 parts"
    assert logged == [f"memory ran out with 4; {again}", f"memory ran out with 2; {again}"]


def test_a_map_of_a_whole_file_stays_there(tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    mapped, cluster = np.load(tmp_path / "features.npy", mmap_mode="r"), LocalCluster()
    shared = map_or_share(cluster, mapped)
    assert isinstance(shared, MappedArray)
    np.testing.assert_array_equal(shared.get(), mapped)
    assert not shared.get().flags.writeable
    part = map_or_share(cluster, mapped[1:])
    assert not isinstance(part, MappedArray)
    np.testing.assert_array_equal(part.get(), mapped[1:])
