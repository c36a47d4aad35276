"""What the filter had left when it was down to some number of train rows, beside the filter itself with that target."""

from dataclasses import asdict, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.algorithm import FilterResult, FilterSettings, filter_dataset
from aflite_assets.stages.train_sets import EarlierSet, earlier_set, why_not_earlier

SETTINGS = FilterSettings(
    target_size=80, train_size=40, slice_size=60, n_partitions=8, threshold=0.5, classifier="logistic"
)
ROWS, SEED = 400, 5
BY_ROWS = {"remove": "rows", "selection": "greedy", "evaluation_rows": "kept"}


def _inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of which the first tells most labels, labels, and groups of 1 to 7 rows in no order."""
    rng = np.random.default_rng(0)
    labels = np.arange(ROWS) % 2
    features = rng.normal(size=(ROWS, 3)).astype(np.float32)
    features[:300, 0] += 2 * labels[:300] - 1
    return features, labels, rng.integers(0, 100, ROWS)


@cache
def _filtered(settings: FilterSettings) -> FilterResult:
    features, labels, groups = _inputs()
    return filter_dataset(
        features, labels, settings=settings, seed=SEED, groups=groups if settings.remove == "groups" else None,
        on_iteration=lambda record, state: None,
    )  # fmt: skip


def _published(result: FilterResult, split: list[str] | None = None) -> pa.Table:
    """The rows of a filtered set, with ids that are no positions."""
    removed = np.full(ROWS, -1)
    removed[result.removed_rows] = result.removed_in_iteration
    return pa.table(
        {
            "row_id": 1000 - np.arange(ROWS),
            "split": split or ["train"] * ROWS,
            "removed_in_iteration": pa.array(removed, mask=removed < 0),
            "predictability": pa.array(result.predictability, mask=np.isnan(result.predictability)),
            "held_out_count": result.held_out_count,
            "group": _inputs()[2],
        }
    )


def _earlier(settings: FilterSettings, size: int) -> EarlierSet:
    found = earlier_set(
        _published(_filtered(settings)), size, settings={**asdict(settings), "evaluation_rows": "kept"}, seed=SEED
    )
    assert found is not None
    return found


@pytest.mark.parametrize("size", [399, 370, 340, 339, 251, 100])
@pytest.mark.parametrize("classifier", ["logistic", "both"])
@pytest.mark.parametrize("selection", ["greedy", "gumbel"])
def test_it_is_what_the_filter_keeps_with_that_target(selection: Any, classifier: Any, size: int) -> None:
    settings = replace(SETTINGS, selection=selection, classifier=classifier)
    found = _earlier(settings, size)
    kept = _filtered(replace(settings, target_size=size)).kept_rows
    assert len(found.row_ids) == len(kept) == size
    np.testing.assert_array_equal(found.row_ids, np.sort(1000 - kept))


@pytest.mark.parametrize("size", [370, 251, 100])
def test_whole_groups_stay_together_and_above_the_size(size: int) -> None:
    settings = replace(SETTINGS, remove="groups")
    found = _earlier(settings, size)
    assert size <= len(found.row_ids) < size + 12
    groups = _inputs()[2]
    assert not set(groups[1000 - found.row_ids]) & set(np.delete(groups, 1000 - found.row_ids))
    np.testing.assert_array_equal(
        found.row_ids, np.sort(1000 - _filtered(replace(settings, target_size=size)).kept_rows)
    )


def test_the_cutoff_and_the_tied_share_say_which_rows_of_the_slice_go() -> None:
    rows, found = _published(_filtered(SETTINGS)), _earlier(SETTINGS, 370)
    assert found.iteration == 0
    assert found.cutoff is not None
    assert found.tied_share is not None
    sliced = rows.filter(pa.compute.equal(rows["removed_in_iteration"], 0))
    scores, gone = sliced["predictability"].to_numpy(), ~np.isin(sliced["row_id"].to_numpy(), found.row_ids)
    assert gone.sum() == 30
    assert gone[scores > found.cutoff].all()
    assert not gone[scores < found.cutoff].any()
    assert found.tied_share == gone[scores == found.cutoff].mean()
    assert 0 < found.tied_share < 1


def test_rows_of_other_splits_in_the_pool_take_their_place_in_the_order() -> None:
    split = ["train" if row % 4 else "test" for row in range(ROWS)]
    rows = _published(_filtered(SETTINGS), split)
    found = earlier_set(rows, 270, settings={**BY_ROWS, "evaluation_rows": "pooled"}, seed=SEED)
    assert found is not None
    assert len(found.row_ids) == 270
    whole = _earlier(SETTINGS, 400 - 45)
    # The filter's own order of all rows, cut where 30 train rows are gone, is cut somewhere near 40 rows.
    assert set(whole.row_ids.tolist()) & set(rows.filter(np.array(split) == "train")["row_id"].to_pylist()) <= set(
        found.row_ids.tolist()
    )


@pytest.mark.parametrize(
    ("size", "iteration", "rows"),
    [
        (6, None, [10, 11, 12, 13, 14]),
        (5, None, [10, 11, 12, 13, 14]),
        (4, 0, [11, 12, 13, 14]),
        (3, 1, [12, 13, 14]),
        (2, 1, [12, 13]),
        (1, 2, [13]),
    ],
)
def test_the_slice_that_passes_the_size_is_cut(size: int, iteration: int | None, rows: list[int]) -> None:
    found = earlier_set(_fates(0, 1, 2, None, 1, None), size, settings=BY_ROWS, seed=0)
    assert found is not None
    assert (found.iteration, found.row_ids.tolist()) == (iteration, rows)
    assert (found.cutoff is None) == (iteration is None)


def test_ties_are_drawn_and_never_taken_in_file_order() -> None:
    fates = _fates(*[0] * 40, *[None] * 20, None, score=1.0)
    chosen = {
        tuple(found.row_ids)
        for seed in range(4)
        if (found := earlier_set(fates, 40, settings=BY_ROWS, seed=seed)) and found.tied_share == 0.5
    }
    assert len(chosen) == 4
    assert tuple(range(30, 70)) not in chosen


def test_a_set_smaller_than_the_filter_ever_had_is_left_out_with_the_reason() -> None:
    fates = _fates(0, None, None, 0)
    assert earlier_set(fates, 1, settings=BY_ROWS, seed=0) is None
    assert why_not_earlier(fates, 1).startswith("the filter ended with 2 train rows, so it never had 1 left")


def test_a_filter_that_removed_nothing_has_its_rows_alone() -> None:
    fates = _fates(None, None, None)
    assert earlier_set(fates, 1, settings=BY_ROWS, seed=0) is None
    whole = earlier_set(fates, 2, settings=BY_ROWS, seed=0)
    assert whole is not None
    assert whole.row_ids.tolist() == [10, 11]


def _fates(*removed: int | None, score: float | None = None) -> pa.Table:
    """Train rows and one test row; without a score earlier rows are the more predictable."""
    scores = [score if score is not None else 1 - row / 100 for row in range(len(removed))]
    return pa.table(
        {
            "row_id": np.arange(10, 10 + len(removed)),
            "split": ["train"] * (len(removed) - 1) + ["test"],
            "removed_in_iteration": pa.array(removed, pa.int64()),
            "predictability": pa.array(scores, pa.float32()),
            "held_out_count": np.full(len(removed), 100),
        }
    )
