from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings, InvalidInputError, filter_dataset, score_rows
from aflite_assets.algorithm.inputs import Inputs, fingerprint, prediction_row_bytes, row_blocks

ROWS = 40
FEATURES = np.random.default_rng(0).normal(size=(ROWS, 3))
LABELS = np.arange(ROWS) % 2
SETTINGS = {"target_size": 30, "train_size": 10, "slice_size": 5, "n_partitions": 2}


def never_fit(features: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> Any:
    pytest.fail("fitted before the inputs were checked")


def score(
    features: Any = FEATURES, labels: Any = LABELS, *, changes: dict[str, Any] | None = None, **given: Any
) -> None:
    settings = FilterSettings(**(SETTINGS | (changes or {})))
    arguments: dict[str, Any] = {"settings": settings, "seed": 0, "fit": never_fit} | given
    score_rows(features, labels, **arguments)


def run_filter(*, changes: dict[str, Any], **given: Any) -> None:
    filter_dataset(FEATURES, LABELS, settings=FilterSettings(**(SETTINGS | changes)), seed=0, **given)


def with_value(value: float) -> np.ndarray:
    features = FEATURES.copy()
    features[25, 1] = value
    return features


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (FEATURES[:, 0], r"`features` has the shape \(40,\), but it must be a 2-d array"),
        (FEATURES[:0], r"shape \(0, 3\), but .* at least one row and one column"),
        (FEATURES[:, :0], r"the shape \(40, 0\), .*; give an array of shape rows x width"),
        (FEATURES.astype(str), r"`features` has the dtype <U32, .* numbers of at most 64 bits; convert"),
        (FEATURES.astype(object), r"the dtype object, .*; convert"),
        (FEATURES.astype(np.longdouble), r"the dtype (float128|longdouble), .* at most 64 bits; convert"),
        (FEATURES.astype(np.complex128), r"the dtype complex128"),
        (with_value(np.nan), r"`features` has the value nan in row 25, column 1, .* finite; repair"),
        (with_value(-np.inf), r"has the value -inf in row 25, column 1"),
    ],
)
def test_bad_features(features: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        score(features)


def test_a_value_that_is_not_finite_is_found_in_any_block() -> None:
    with pytest.raises(InvalidInputError, match=r"has the value nan in row 25, column 1"):
        score(with_value(np.nan), memory_limit=100)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS[:-1], r"`labels` has the shape \(39,\), but `features` has 40 rows; give a 1-d array"),
        (LABELS[:, None], r"the shape \(40, 1\), .*; give a 1-d array with one entry per row"),
        (LABELS.astype(float), r"`labels` has the dtype float64, .* integers; number the values"),
        (LABELS.astype(str), r"`labels` has the dtype <U"),
        (LABELS.astype(bool), r"`labels` has the dtype bool"),
        (np.where(np.arange(ROWS) == 7, -1, LABELS), r"`labels` has the value -1 for row 7, .* at least 0; leave out"),
        (np.full(ROWS, 4), r"have the same label \(4\); give rows of at least two classes"),
        (
            LABELS.astype(np.uint64) + np.uint64(2**63),
            r"`labels` has the value 9223372036854775809, which does not fit into int64",
        ),
    ],
)
def test_bad_labels(labels: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        score(labels=labels)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (LABELS[:-1], r"`groups` has the shape \(39,\), .* 1-d array"),
        (LABELS * 0.5, r"`groups` has the dtype float64"),
        (np.zeros(ROWS, dtype=int), r"`train_size` is 10, but the smallest group has 40 rows; raise"),
    ],
)
def test_bad_groups(groups: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        score(groups=groups)


@pytest.mark.parametrize(
    ("score_only", "message"),
    [
        (np.zeros(ROWS - 1, dtype=bool), r"`score_only` has the shape \(39,\) and the dtype bool, .* bool array"),
        (np.zeros(ROWS, dtype=int), r"the shape \(40,\) and the dtype int64, .* True for"),
        (np.ones(ROWS, dtype=bool), r"`score_only` is True for every row, so"),
        (LABELS == 0, r"rows to train on have the same label \(1\)"),
        (np.arange(ROWS) >= 10, r"`train_size` is 10, but there are only 10 rows to train on"),
    ],
)
def test_bad_score_only(score_only: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        score(score_only=score_only)


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ([], r"`partitions` is empty; give at least one"),
        (np.arange(5), r"`partitions` is a single 1-d array; give a list"),
        ([np.arange(5), np.arange(40) < 5], r"`partitions\[1\]` has .*dtype bool.*; turn .* `np\.flatnonzero`"),
        ([np.zeros((2, 2), dtype=int)], r"`partitions\[0\]` has the shape \(2, 2\) .* 1-d array"),
        ([np.empty(0, dtype=int)], r"`partitions\[0\]` has the shape \(0,\)"),
        ([[1, 2, 1]], r"`partitions\[0\]` contains a row twice; give each"),
        ([[1, -1]], r"`partitions\[0\]` contains row -1, but the rows of `features` are numbered from 0 to 39"),
        ([[1, 40]], r"`partitions\[0\]` contains row 40, but the rows of `features` are numbered from 0 to 39"),
        ([np.arange(ROWS)], r"`partitions\[0\]` contains every row, .*; leave"),
    ],
)
def test_bad_partitions(partitions: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        score(partitions=partitions)


@pytest.mark.parametrize(
    ("counted", "message"),
    [
        (np.ones(ROWS - 1, dtype=bool), r"`counted` has the shape \(39,\) and the dtype bool, .* bool array"),
        (np.ones(ROWS, dtype=int), r"`counted` has .* the dtype int64, .* True for rows that count towards `target"),
        (np.arange(ROWS) < 5, r"`counted` and `score_only` are both True for row 3, .*; set one"),
    ],
)
def test_bad_counted(counted: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        run_filter(changes={}, score_only=np.arange(ROWS) == 3, counted=counted)


def test_the_target_may_not_exceed_the_rows_that_it_counts() -> None:
    with pytest.raises(InvalidInputError, match=r"`target_size` is \d+, but only 5 rows count"):
        run_filter(changes={}, counted=np.arange(ROWS) < 5)


def test_partitions_may_not_train_on_score_only_rows() -> None:
    with pytest.raises(
        InvalidInputError, match=r"`partitions\[0\]` contains row 3, for which `score_only` is True; remove"
    ):
        score(partitions=[[1, 3]], score_only=np.arange(ROWS) == 3)


def test_partitions_may_not_split_groups() -> None:
    with pytest.raises(InvalidInputError, match=r"`partitions\[0\]` contains only a part of group 1; include"):
        score(partitions=[[0, 1, 2]], groups=np.arange(ROWS) // 2)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, None, True])
def test_bad_seed(seed: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"`seed` is {seed!r}, .* a whole number from 0 .*; give"):
        score(seed=seed)


@pytest.mark.parametrize("device", ["gpu", "cuda:1", None])
def test_bad_device(device: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"`device` is {device!r}, .* give one of auto, cpu, cuda$"):
        score(device=device)


@pytest.mark.parametrize("limit", [0, -1, 2.0**20, None])
def test_bad_memory_limit(limit: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"`memory_limit` is {limit!r}, .* positive .*; give"):
        score(memory_limit=limit)


def test_memory_limit_below_one_row() -> None:
    with pytest.raises(InvalidInputError, match=r"`memory_limit` is 95, .* one row needs 96 bytes"):
        score(memory_limit=95)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_size": 41}, r"`target_size` is 41, but only 40 rows count towards it; lower"),
        ({"train_size": 30}, r"`train_size` is 30, but `target_size` is 30 and must be larger; lower"),
        ({"slice_size": 31}, r"`slice_size` is 31, but `target_size` is 30 and must not be smaller; lower"),
        ({"remove": "groups"}, r'`remove` is "groups", but `groups` is None; give `groups`'),
    ],
)
def test_settings_that_contradict_the_data(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        run_filter(changes=changes)


def test_sizes_are_counted_without_score_only_rows() -> None:
    with pytest.raises(InvalidInputError, match=r"`target_size` is 30, .* only 29 rows"):
        run_filter(changes={}, score_only=np.arange(ROWS) < 11)


def test_score_rows_needs_no_target() -> None:
    with pytest.raises(InvalidInputError, match=r"`train_size` is \d+, but there are only 40 rows to train on"):
        score(changes={"target_size": 1000, "slice_size": 1000, "train_size": 40})


def test_a_slice_must_hold_the_largest_group() -> None:
    with pytest.raises(InvalidInputError, match=r"`slice_size` is 5, but the largest group has 8 rows"):
        run_filter(changes={"remove": "groups"}, groups=np.arange(ROWS) // 8)


def test_kept_probabilities_need_a_classifier_that_has_them() -> None:
    with pytest.raises(InvalidInputError, match=r'`keep_probabilities` is True, but `classifier` is "linear_svm"'):
        run_filter(changes={"classifier": "linear_svm"}, keep_probabilities=True)


HASHED = Inputs(
    np.random.default_rng(0).normal(size=(20, 4)),
    np.arange(20) % 2,
    np.array([0, 1]),
    np.arange(20) % 2,
    np.arange(20) % 2 == 0,
    np.arange(20) % 2 != 0,
)
HASH_SETTINGS = FilterSettings(target_size=10, train_size=5, slice_size=2)


def hash_of(inputs: Inputs = HASHED, settings: FilterSettings = HASH_SETTINGS, **given: Any) -> str:
    return fingerprint(inputs, settings, **({"seed": 0, "keep_probabilities": False, "memory_limit": 2**20} | given))


@pytest.mark.parametrize("limit", [1, 70, 2**30])
def test_blocks_and_layout_do_not_matter(limit: int) -> None:
    assert hash_of(memory_limit=limit) == hash_of()
    assert hash_of(replace(HASHED, features=np.asfortranarray(HASHED.features)), memory_limit=limit) == hash_of()


def test_every_input_counts() -> None:
    others = [
        hash_of(replace(HASHED, features=HASHED.features + 1e-9)),
        hash_of(replace(HASHED, features=HASHED.features.astype(np.float32))),
        hash_of(replace(HASHED, features=HASHED.features.reshape(20, 4)[:, ::-1])),
        hash_of(replace(HASHED, labels=1 - HASHED.labels)),
        hash_of(replace(HASHED, groups=None)),
        hash_of(replace(HASHED, groups=1 - HASHED.labels)),
        hash_of(replace(HASHED, score_only=HASHED.labels == 1)),
        hash_of(replace(HASHED, counted=HASHED.labels == 0)),
        hash_of(settings=replace(HASH_SETTINGS, inverse_regularization=2.0)),
        hash_of(settings=replace(HASH_SETTINGS, remove="groups")),
        hash_of(seed=1),
        hash_of(keep_probabilities=True),
    ]
    assert len({hash_of(), *others}) == len(others) + 1
    assert len(hash_of()) == 64


@pytest.mark.parametrize(("limit", "lengths"), [(1, [1] * 5), (20, [2, 2, 1]), (39, [3, 2]), (1000, [5])])
def test_blocks_cover_the_rows_within_the_limit(limit: int, lengths: list[int]) -> None:
    blocks = list(row_blocks(5, row_bytes=10, memory_limit=limit))
    assert [block.stop - block.start for block in blocks] == lengths
    assert np.concatenate([np.arange(5)[block] for block in blocks]).tolist() == [0, 1, 2, 3, 4]


def test_row_bytes_count_features_twice_and_classes_thrice() -> None:
    assert prediction_row_bytes(10, 4) == 8 * (20 + 12)
