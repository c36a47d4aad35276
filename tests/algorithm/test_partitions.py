from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.algorithm import FilterSettings, InvalidInputError
from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.partitions import (
    Partitions,
    Purpose,
    draw_iteration,
    draw_partitions,
    fill_in_order,
    generator,
)

ROWS = np.arange(100, 150)


def test_partitions_have_the_size_and_are_ascending_rows_of_the_pool() -> None:
    drawn = draw_partitions(ROWS, None, train_size=20, n_partitions=8, seed=3, iteration=0)
    assert len(drawn) == 8
    assert len({tuple(rows) for rows in drawn}) == 8
    for rows in drawn:
        assert len(rows) == 20
        assert np.all(np.diff(rows) > 0)
        assert np.isin(rows, ROWS).all()


def test_partition_depends_on_its_number_alone() -> None:
    few = draw_partitions(ROWS, None, train_size=20, n_partitions=2, seed=3, iteration=1)
    many = draw_partitions(ROWS, None, train_size=20, n_partitions=8, seed=3, iteration=1)
    np.testing.assert_array_equal(few, many[:2])


@pytest.mark.parametrize(("seed", "iteration"), [(4, 1), (3, 2)])
def test_another_seed_or_iteration_draws_others(seed: int, iteration: int) -> None:
    base = draw_partitions(ROWS, None, train_size=20, n_partitions=1, seed=3, iteration=1)[0]
    other = draw_partitions(ROWS, None, train_size=20, n_partitions=1, seed=seed, iteration=iteration)[0]
    assert base.tolist() != other.tolist()


def test_every_row_is_trained_on_equally_often() -> None:
    drawn = draw_partitions(ROWS, None, train_size=20, n_partitions=4000, seed=0, iteration=0)
    share = np.bincount(np.concatenate(drawn), minlength=150)[100:] / 4000
    assert np.abs(share - 0.4).max() < 0.04  # five standard deviations of 0.0077


@given(
    groups=st.lists(st.integers(-3, 6), min_size=2, max_size=40),
    share=st.floats(0.1, 0.9),
    seed=st.integers(0, 1000),
)
def test_groups_are_never_split_and_fill_what_they_can(groups: list[int], share: float, seed: int) -> None:
    array = np.array(groups)
    sizes = {group: groups.count(group) for group in groups}
    train_size = max(1, int(share * len(groups)))
    rows = np.arange(len(groups)) * 2
    if min(sizes.values()) > train_size:
        with pytest.raises(InvalidInputError, match="but the smallest of the"):
            draw_partitions(rows, array, train_size=train_size, n_partitions=3, seed=seed, iteration=0)
        return
    for trained in draw_partitions(rows, array, train_size=train_size, n_partitions=3, seed=seed, iteration=0):
        inside, outside = set(array[np.isin(rows, trained)]), set(array[~np.isin(rows, trained)])
        assert not inside & outside
        assert 1 <= len(trained) <= train_size
        assert all(len(trained) + sizes[group] > train_size for group in outside)


def test_no_group_that_fits_is_an_error() -> None:
    message = "`train_size` is 20, but the smallest of the 2 groups in the pool of iteration 4 has 25 rows"
    with pytest.raises(InvalidInputError, match=message):
        draw_partitions(ROWS, np.repeat([0, 1], 25), train_size=20, n_partitions=1, seed=0, iteration=4)


@given(sizes=st.lists(st.integers(1, 9), max_size=30), capacity=st.integers(0, 60))
def test_filling_takes_each_item_that_still_fits(sizes: list[int], capacity: int) -> None:
    expected, left = [], capacity
    for size in sizes:
        expected.append(size <= left)
        left -= size if size <= left else 0
    assert fill_in_order(np.array(sizes, dtype=np.int64), capacity).tolist() == expected


def drawn(train: int, groups: np.ndarray | None, rows: int, **sizes: Any) -> Partitions:
    """Partitions of `rows` rows, of which those after the first `train` are only scored."""
    numbers = np.arange(rows)
    inputs = Inputs(np.zeros((rows, 1)), numbers % 2, np.arange(2), groups, numbers >= train, numbers < train)
    return draw_iteration(inputs, FilterSettings(target_size=1, slice_size=1, **sizes), pool=numbers, seed=0)


def test_rows_only_scored_are_left_out_as_often_as_rows_are_trained_on() -> None:
    left_out = drawn(300, None, 500, train_size=75, n_partitions=200).unpredicted
    assert all((part >= 300).all() for part in left_out)
    share = np.bincount(np.concatenate(left_out) - 300, minlength=200) / 200
    assert share.mean() == pytest.approx(75 / 300, abs=0.011)  # five standard deviations of 0.0022
    assert share.std() == pytest.approx((0.25 * 0.75 / 200) ** 0.5, rel=0.25)


def test_rows_only_scored_follow_the_training_rows_of_their_group() -> None:
    groups = np.append(np.arange(12) // 3, [0, 2, 9, 9])
    pool = drawn(12, groups, 16, train_size=6, n_partitions=50)
    for subset, unpredicted in zip(pool.subsets, pool.unpredicted, strict=True):
        for row, group in ((12, 0), (13, 2)):
            assert (row in unpredicted) == (group in groups[subset])
        assert (14 in unpredicted) == (15 in unpredicted)  # a group without training rows shares one draw
    assert 10 < sum(14 in unpredicted for unpredicted in pool.unpredicted) < 40


def test_every_purpose_iteration_and_partition_has_its_own_stream() -> None:
    seeds = (0, 1, 2, 2**32, 2**32 + 1)
    places = list(product(seeds, Purpose, range(3), range(3)))
    assert len({int(generator(*place).integers(2**63)) for place in places}) == len(places)


def test_a_stream_does_not_depend_on_what_was_drawn_before() -> None:
    generator(5, Purpose.PARTITION, 0, 0).random(10)
    first = generator(5, Purpose.PARTITION, 1, 2).random(3).tolist()
    assert generator(5, Purpose.PARTITION, 1, 2).random(3).tolist() == first
