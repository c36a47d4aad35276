from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.errors import DataError
from aflite_assets.sources.holdout import hold_out


def _train(rows: int, **columns: Any) -> pa.Table:
    numbers = np.arange(rows)
    return pa.table({"row_id": numbers, "split": ["train"] * rows, "label": numbers % 2} | columns)


def test_every_row_is_in_one_split_with_the_classes_shares() -> None:
    splits = hold_out(_train(100), {"test": 0.2, "validation": 10}, seed=0)
    assert {name: part.num_rows for name, part in splits.items()} == {"train": 70, "test": 20, "validation": 10}
    assert sorted(row for part in splits.values() for row in part["row_id"].to_pylist()) == list(range(100))
    assert [sum(part["label"].to_pylist()) for part in splits.values()] == [35, 10, 5]
    assert all(set(part["split"].to_pylist()) == {name} for name, part in splits.items())
    assert splits["test"]["row_id"].to_pylist() == sorted(splits["test"]["row_id"].to_pylist())


def test_groups_are_never_split() -> None:
    splits = hold_out(_train(90, group=np.arange(90) // 3), {"test": 0.3}, seed=4)
    groups = [set(part["group"].to_pylist()) for part in splits.values()]
    assert not groups[0] & groups[1]
    assert splits["test"].num_rows == 27


def test_the_seed_decides_the_draw() -> None:
    draws = [hold_out(_train(100), {"test": 0.2}, seed=seed)["test"]["row_id"].to_pylist() for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize(
    ("holdout", "message"),
    [
        ({"test": 100}, r"holdout\.test is 100, which is 100 of 100 train rows with 100 left; choose a size"),
        ({"test": 60, "dev": 0.5}, r"holdout\.dev is 0\.5, which is 50 of 100 train rows with 40 left"),
        ({"test": 0.001}, r"holdout\.test is 0\.001, which is 0 of 100 train rows"),
    ],
)
def test_sizes_that_cannot_be_met_are_refused(holdout: dict[str, int | float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        hold_out(_train(100), holdout, seed=0)


def test_groups_larger_than_the_draw_are_refused() -> None:
    with pytest.raises(DataError, match=r"holdout\.test draws whole groups, and no group is as small as its 5 rows"):
        hold_out(_train(100, group=np.arange(100) // 10), {"test": 5}, seed=0)
