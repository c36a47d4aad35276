"""What the filter had left when it was down to some number of train rows, beside the filter itself with that target."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.algorithm import FilterResult, FilterSettings, RowWords, filter_dataset
from aflite_assets.data.words import DistinctWords
from aflite_assets.errors import InvalidInputError
from aflite_assets.stages.shared.train_sets import EarlierSet, FilterRun, earlier_set, why_not_earlier

SETTINGS = FilterSettings(
    target_size=80, train_size=40, slice_size=60, n_partitions=8, threshold=0.5, classifier="logistic"
)
ROWS, SEED = 400, 5
TRAIN_ALONE: tuple[tuple[str, str], ...] = ()
POOLED, SCORED, BOTH = (("test", "pooled"),), (("test", "scored"),), (("test", "pooled"), ("dev", "scored"))
BY_ROWS = FilterRun(FilterSettings(target_size=1, train_size=1, slice_size=100, threshold=0.0), {"test": "kept"}, 0)


def _inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of which the first tells most labels, labels, and groups of 1 to 7 rows in no order."""
    rng = np.random.default_rng(0)
    labels = np.arange(ROWS) % 2
    features = rng.normal(size=(ROWS, 3)).astype(np.float32)
    features[:300, 0] += 2 * labels[:300] - 1
    return features, labels, rng.integers(0, 100, ROWS)


def _splits(policies: tuple[tuple[str, str], ...]) -> np.ndarray:
    """One row in five for each split other than train; rows of a group share it."""
    split = np.full(ROWS, "train", dtype=object)
    for number, (name, _) in enumerate(policies):
        split[_inputs()[2] % 5 == number] = name
    return split


@cache
def _words() -> DistinctWords:
    """Six of 150 words per row, some far more frequent than others."""
    rng = np.random.default_rng(3)
    sets = [np.unique((150 * rng.random(6) ** 2).astype(np.int64)) for _ in range(ROWS)]
    return DistinctWords(np.cumsum([0, *map(len, sets)]), np.concatenate(sets))


@cache
def _filtered(settings: FilterSettings, policies: tuple[tuple[str, str], ...]) -> FilterResult:
    features, labels, groups = _inputs()
    split = _splits(policies)
    scored = np.isin(split, [name for name, policy in policies if policy == "scored"])
    return filter_dataset(
        features,
        labels,
        settings=settings,
        seed=SEED,
        groups=groups if settings.remove == "groups" else None,
        score_only=scored if scored.any() else None,
        counted=split == "train",
        words=RowWords(**vars(_words())),
        on_iteration=lambda record, state: None,
    )


def _earlier(settings: FilterSettings, size: int, policies: tuple[tuple[str, str], ...] = TRAIN_ALONE) -> EarlierSet:
    """The earlier set of a filter's published rows, whose ids are no positions."""
    result = _filtered(settings, policies)
    removed = np.full(ROWS, -1)
    removed[result.removed_rows] = result.removed_in_iteration
    rows = pa.table(
        {
            "row_id": 1000 - np.arange(ROWS),
            "split": _splits(policies).tolist(),
            "removed_in_iteration": pa.array(removed, mask=removed < 0),
            "predictability": pa.array(result.predictability, mask=np.isnan(result.predictability)),
            "held_out_count": result.held_out_count,
            "group": _inputs()[2],
            "label": _inputs()[1],
        }
    )
    if result.last_label_probability is not None:
        rows = rows.append_column("last_label_probability", pa.array(result.last_label_probability))
    words = _words() if settings.ranking == "vocabulary" else None
    found = earlier_set(rows, size, run=FilterRun(settings, dict(policies), SEED), words=words)
    assert found is not None
    return found


SELECTIONS = ("greedy", "gumbel", "gumbel_over_threshold")
RUNS = (
    *(("logistic", one, policies) for policies in (TRAIN_ALONE, POOLED, SCORED, BOTH) for one in SELECTIONS),
    ("both", "greedy", TRAIN_ALONE),
    ("both", "gumbel", POOLED),
    ("both", "gumbel_over_threshold", SCORED),
    ("both", "greedy", BOTH),
)
"""Both classifiers give other scores alone, so each selection and each treatment of other splits has them once."""


@pytest.mark.parametrize("size", [319, 251, 100])
@pytest.mark.parametrize(("classifier", "selection", "policies"), RUNS)
def test_it_is_what_the_filter_keeps_with_that_target(
    classifier: Any, selection: Any, policies: tuple[tuple[str, str], ...], size: int
) -> None:
    settings = replace(SETTINGS, selection=selection, classifier=classifier)
    size = min(size, int((_splits(policies) == "train").sum()) - 1)
    found = _earlier(settings, size, policies)
    kept = _filtered(replace(settings, target_size=size), policies).kept_rows
    split = _splits(policies)[kept]
    assert list(found.row_ids) == ["train", *(name for name, _ in policies)]
    assert len(found.row_ids["train"]) == size
    for name, row_ids in found.row_ids.items():
        expected = np.sort(1000 - kept[split == name])
        if dict(policies).get(name) == "scored":  # the same law, but ties are drawn among the rows of the slice alone
            assert len(np.setxor1d(row_ids, expected)) <= 10
        else:
            np.testing.assert_array_equal(row_ids, expected)


@pytest.mark.parametrize("size", [319, 251, 100])
@pytest.mark.parametrize(
    "changes",
    [
        {"ranking": "label_probability"},
        {"ties": "label_probability"},
        {"balance": "classes"},
        {"ties": "label_probability", "balance": "classes", "classifier": "both"},
    ],
    ids=str,
)
@pytest.mark.parametrize("policies", [TRAIN_ALONE, POOLED])
def test_by_label_probability_and_class_it_is_what_the_filter_keeps(
    policies: tuple[tuple[str, str], ...], changes: dict[str, Any], size: int
) -> None:
    settings = replace(SETTINGS, **changes)
    size = min(size, int((_splits(policies) == "train").sum()) - 1)
    found = _earlier(settings, size, policies)
    kept = _filtered(replace(settings, target_size=size), policies).kept_rows
    assert len(found.row_ids["train"]) == size
    split = _splits(policies)[kept]
    for name, row_ids in found.row_ids.items():
        np.testing.assert_array_equal(row_ids, np.sort(1000 - kept[split == name]))


@pytest.mark.parametrize("size", [399, 319, 251, 100])
@pytest.mark.parametrize("classifier", ["logistic", "both"])
def test_ranked_by_vocabulary_it_is_what_the_filter_keeps_with_that_target(classifier: Any, size: int) -> None:
    settings = replace(SETTINGS, ranking="vocabulary", classifier=classifier)
    kept = _filtered(replace(settings, target_size=size), TRAIN_ALONE).kept_rows
    found = _earlier(settings, size)
    np.testing.assert_array_equal(found.row_ids["train"], np.sort(1000 - kept))
    assert found.row_ids["train"].tolist() != _earlier(SETTINGS, size).row_ids["train"].tolist()
    grouped = _earlier(replace(settings, remove="groups"), size)
    assert size <= len(grouped.row_ids["train"]) < size + 12
    left = 1000 - grouped.row_ids["train"]
    assert not set(_inputs()[2][left]) & set(np.delete(_inputs()[2], left))


@pytest.mark.parametrize(("ranking", "words", "said"), [("vocabulary", None, "None"), ("predictability", 1, "given")])
def test_words_go_with_the_ranking_by_them(ranking: Any, words: int | None, said: str) -> None:
    run = replace(BY_ROWS, settings=replace(BY_ROWS.settings, ranking=ranking))
    with pytest.raises(InvalidInputError, match=f"`words` is {said}, but the filter ranked rows by {ranking}; give"):
        earlier_set(_fates(0, None), 1, run=run, words=None if words is None else _words())


@pytest.mark.parametrize("policies", [TRAIN_ALONE, POOLED])
@pytest.mark.parametrize("size", [270, 251, 100])
def test_whole_groups_stay_together_and_above_the_size(size: int, policies: tuple[tuple[str, str], ...]) -> None:
    settings = replace(SETTINGS, remove="groups")
    found = _earlier(settings, size, policies)
    assert size <= len(found.row_ids["train"]) < size + 12
    groups, left = _inputs()[2], 1000 - np.concatenate(list(found.row_ids.values()))
    assert not set(groups[left]) & set(np.delete(groups, left))


def test_the_cutoff_is_the_lowest_score_of_the_slice_that_goes() -> None:
    result, found = _filtered(SETTINGS, TRAIN_ALONE), _earlier(SETTINGS, 370)
    assert found.iteration == 0
    sliced = result.removed_rows[result.removed_in_iteration == 0]
    gone = sliced[~np.isin(1000 - sliced, found.row_ids["train"])]
    assert len(gone) == 30
    assert found.cutoff == pytest.approx(result.predictability[gone].min())


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
    found = earlier_set(_fates(0, 1, 2, None, 1, None), size, run=BY_ROWS)
    assert found is not None
    assert (found.iteration, found.row_ids["train"].tolist()) == (iteration, rows)
    assert list(found.row_ids) == ["train"]
    assert (found.cutoff is None) == (iteration is None)


def test_a_sampled_slice_without_a_row_over_the_threshold_is_cut() -> None:
    rows = _fates(0, 0, 0, None, score=0.6)
    settings = replace(BY_ROWS.settings, selection="gumbel", threshold=0.75)
    found = earlier_set(rows, 2, run=replace(BY_ROWS, settings=settings))
    assert found is not None
    assert (found.iteration, len(found.row_ids["train"]), found.cutoff) == (0, 2, 0.6)


def test_ties_are_drawn_and_never_taken_in_file_order() -> None:
    fates = _fates(*[0] * 40, *[None] * 20, None, score=1.0)
    found = [earlier_set(fates, 40, run=replace(BY_ROWS, seed=seed)) for seed in range(4)]
    chosen = {tuple(one.row_ids["train"]) for one in found if one is not None}
    assert len(chosen) == 4
    assert tuple(range(30, 70)) not in chosen


def test_a_set_smaller_than_the_filter_ever_had_is_left_out_with_the_reason() -> None:
    fates = _fates(0, None, None, 0)
    assert earlier_set(fates, 1, run=BY_ROWS) is None
    assert why_not_earlier(fates, 1).startswith("the filter ended with 2 train rows, so it never had 1 left")


def test_a_filter_that_removed_nothing_has_its_rows_alone() -> None:
    fates = _fates(None, None, None)
    assert earlier_set(fates, 1, run=BY_ROWS) is None
    whole = earlier_set(fates, 2, run=BY_ROWS)
    assert whole is not None
    assert whole.row_ids["train"].tolist() == [10, 11]


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
