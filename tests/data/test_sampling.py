import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.sampling import class_quotas, resolve_count, stratified_sample
from aflite_assets.errors import DataError, InvalidInputError

LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=60)


def _draw(labels: list[int], groups: list[int] | None, size: int, seed: int = 0) -> np.ndarray:
    array = None if groups is None else np.array(groups)
    return stratified_sample(np.array(labels, np.int64), array, size, rng=np.random.default_rng(seed))


def test_whole_numbers_are_counts_and_decimals_are_shares() -> None:
    assert [resolve_count(count, 200, field="x", kind="rows") for count in (1, 1.0, 0.25, 200)] == [1, 200, 50, 200]


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (5_000,
            r"`filter\.x` is 5,000, but there are only 288 train rows; set it to at most 288, or to a "
            r"share such as 0\.5$"),
        (0.001, r"`filter.x` is 0.001, but this share of the 288 train rows rounds to 0 rows; set it to a "
            r"share of at least 0.0035, or to a number of rows$"),
    ],
)  # fmt: skip
def test_counts_that_cannot_be_met_are_named_with_both_numbers(count: float, message: str) -> None:
    with pytest.raises(DataError, match=message):
        resolve_count(count, 288, field="filter.x", kind="train rows")
    assert resolve_count(0.0035, 288, field="filter.x", kind="train rows") == 1


@given(counts=st.lists(st.integers(0, 10_000), min_size=1, max_size=12), share=st.floats(0, 1))
def test_quotas_sum_to_the_size_and_are_within_one_of_the_share(counts: list[int], share: float) -> None:
    array = np.array(counts, np.int64)
    size = int(share * array.sum())
    quotas = class_quotas(array, size)
    assert quotas.sum() == size
    assert np.abs(quotas - array * size / max(array.sum(), 1)).max() < 1
    assert (quotas >= 0).all()
    assert (quotas <= array).all()


@pytest.mark.parametrize(
    ("size", "quotas"), [(0, [0, 0, 0]), (1, [1, 0, 0]), (4, [3, 1, 0]), (5, [3, 2, 0]), (10, [6, 3, 1])]
)
def test_quotas_by_largest_remainder(size: int, quotas: list[int]) -> None:
    assert class_quotas(np.array([6, 3, 1]), size).tolist() == quotas


@given(labels=LABELS, share=st.floats(0, 1), seed=st.integers(0, 1000))
def test_without_groups_stratification_is_exact(labels: list[int], share: float, seed: int) -> None:
    size = int(share * len(labels))
    rows = _draw(labels, None, size, seed)
    assert rows.dtype == np.int64
    assert (np.diff(rows) > 0).all()
    counts = np.bincount(labels)
    drawn = np.bincount(np.array(labels)[rows], minlength=len(counts))
    assert drawn.tolist() == class_quotas(counts, size).tolist()


@given(data=st.data(), labels=LABELS, share=st.floats(0, 1), seed=st.integers(0, 1000))
def test_groups_are_never_split_and_the_size_never_exceeded(
    data: st.DataObject, labels: list[int], share: float, seed: int
) -> None:
    groups = data.draw(st.lists(st.integers(-3, 12), min_size=len(labels), max_size=len(labels)))
    size = int(share * len(labels))
    rows = _draw(labels, groups, size, seed)
    assert len(rows) <= size
    assert (np.diff(rows) > 0).all()
    chosen = np.isin(np.arange(len(labels)), rows)
    inside, outside = set(np.array(groups)[chosen]), set(np.array(groups)[~chosen])
    assert not inside & outside
    assert all(len(rows) + groups.count(int(group)) > size for group in outside)


def test_groups_of_one_row_are_stratified_exactly() -> None:
    labels = [0] * 60 + [1] * 40
    rows = _draw(labels, list(range(100)), 50)
    assert np.bincount(np.array(labels)[rows]).tolist() == [30, 20]


def test_group_that_no_quota_admits_is_taken_while_the_size_lasts() -> None:
    rows = _draw([0, 0, 0, 1, 1, 1], [5, 5, 5, 6, 6, 6], 4)
    assert rows.tolist() in ([0, 1, 2], [3, 4, 5])


def test_seed_decides() -> None:
    labels = [0, 1] * 500
    assert _draw(labels, None, 100, 1).tolist() == _draw(labels, None, 100, 1).tolist()
    assert _draw(labels, None, 100, 1).tolist() != _draw(labels, None, 100, 2).tolist()


def test_rows_of_a_class_are_drawn_equally_often() -> None:
    rng = np.random.default_rng(0)
    labels = np.array([0] * 10 + [1] * 20)
    drawn = np.zeros(30)
    for _ in range(2000):
        drawn[stratified_sample(labels, None, 9, rng=rng)] += 1
    assert np.abs(drawn / 2000 - 0.3).max() < 0.052  # five standard deviations of 0.0102


@pytest.mark.parametrize("size", [-1, 4])
def test_more_than_there_is_cannot_be_drawn(size: int) -> None:
    with pytest.raises(
        InvalidInputError, match=f"`size` is {size}, but only 3 rows can be drawn; give a number from 0 to 3"
    ):
        _draw([0, 1, 0], None, size)


def test_nothing_from_nothing() -> None:
    assert _draw([], None, 0).tolist() == []
    assert _draw([], [], 0).tolist() == []
