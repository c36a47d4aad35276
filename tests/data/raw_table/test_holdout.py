from collections.abc import Callable

import numpy as np
import pytest

from aflite_assets.data.raw_table.holdout import hold_out
from aflite_assets.data.raw_table.table import RawTable
from aflite_assets.errors import DataError

LABELS = np.arange(100) % 2


def test_every_row_is_in_one_split_with_the_classes_shares() -> None:
    splits = hold_out(LABELS, None, {"test": 0.2, "validation": 10}, seed=0)
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 70, "test": 20, "validation": 10}
    assert sorted(np.concatenate(list(splits.values()))) == list(range(100))
    assert [int(LABELS[rows].sum()) for rows in splits.values()] == [35, 10, 5]
    assert all((np.diff(rows) > 0).all() for rows in splits.values())


def test_groups_are_never_split() -> None:
    groups = np.arange(90) // 3
    splits = hold_out(LABELS[:90], groups, {"test": 0.3}, seed=4)
    assert not set(groups[splits["train"]]) & set(groups[splits["test"]])
    assert len(splits["test"]) == 27


def test_the_seed_decides_the_draw() -> None:
    draws = [hold_out(LABELS, None, {"test": 0.2}, seed=seed)["test"].tolist() for seed in (0, 0, 1)]
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
        hold_out(LABELS, None, holdout, seed=0)


def test_groups_larger_than_the_draw_are_refused() -> None:
    with pytest.raises(DataError, match=r"holdout\.test draws whole groups, and no group is as small as its 5 rows"):
        hold_out(LABELS, np.arange(100) // 10, {"test": 5}, seed=0)


def test_raw_table_draws_from_labelled_rows_and_limits_what_was_drawn(build: Callable[..., RawTable]) -> None:
    columns = {"text": [f"t{row}" for row in range(100)], "label": ["a", "b", "a", "b", "-"] * 20}
    raw = build({"train": columns}, holdout={"test": 0.25}, limit={"test": 10}, unlabelled=("-",))
    rows = raw.examples.table.select(["split", "row_id"]).to_pydict()
    assert raw.labelled_rows == {"train": 60, "test": 20}
    assert {split: rows["split"].count(split) for split in ("train", "test")} == {"train": 60, "test": 10}
    assert len(set(rows["row_id"])) == 70
    assert all(row % 5 != 4 for row in rows["row_id"])
    assert (raw.source_rows, raw.unlabelled_rows) == ({"train": 100}, {"train": 20})
