"""A large subset of rows in which a cue tells nothing and no class nearly vanishes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.errors import DataError
from aflite_assets.fixing.rebalancing import rebalanced_rows

COUNTS = st.integers(1, 60)


def _rows(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with these numbers per cell (of cues) and class."""
    cells, classes = counts.shape
    cues = max(1, int(np.ceil(np.log2(cells))))
    codes = np.repeat(np.arange(cells), counts.sum(axis=1))
    labels = np.concatenate([np.repeat(np.arange(classes), row) for row in counts])
    return (codes[:, None] >> np.arange(cues)) % 2 == 1, labels


def _shares(carriers: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.array([np.bincount(labels[own], minlength=labels.max() + 1) for own in (carriers, ~carriers)])


def test_a_cue_of_two_classes_loses_the_fewest_rows() -> None:
    carriers, labels = _rows(np.array([[310, 490], [190, 10]]))
    kept = rebalanced_rows(carriers, labels, np.random.default_rng(0))
    counts = _shares(carriers[kept, 0], labels[kept])
    assert counts.tolist() == [[6, 10], [310, 490]]
    assert (np.diff(kept) > 0).all()


def test_three_sources_of_three_classes_keep_all_classes() -> None:
    sources = np.array([[1_180, 130, 130], [130, 1_180, 130], [130, 130, 1_180]])
    codes = np.repeat(np.arange(3), sources.sum(axis=1))
    labels = np.concatenate([np.repeat(np.arange(3), row) for row in sources])
    kept = rebalanced_rows(codes[:, None] == np.arange(3), labels, np.random.default_rng(0))
    cells = np.zeros((3, 3), dtype=int)
    np.add.at(cells, (codes[kept], labels[kept]), 1)
    assert cells.tolist() == [[130] * 3] * 3


def test_the_draw_follows_the_seed() -> None:
    carriers, labels = _rows(np.array([[50, 50], [50, 10]]))
    first, same, other = (rebalanced_rows(carriers, labels, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert first.tolist() == same.tolist() != other.tolist()
    assert len(first) == len(other)


@given(counts=st.lists(st.tuples(COUNTS, COUNTS), min_size=2, max_size=4))
@settings(max_examples=60)
def test_no_other_proportions_keep_larger_classes(counts: list[tuple[int, int]]) -> None:
    own = np.array(counts).T
    carriers, labels = _rows(own)
    try:
        kept = rebalanced_rows(carriers, labels, np.random.default_rng(0))
    except DataError:  # a class of few rows would be rounded to none
        assert own.min() == 1 or own.max() > 10 * own.min()
        return
    found = _shares(carriers[kept, 0], labels[kept]).astype(float)
    factors = np.exp(np.linspace(-5, 5, 2_001))
    shares = own.sum(axis=0) / own.sum()
    sizes_by_factor = [(1 + factor) * np.minimum(own[0], own[1] / factor) for factor in factors]
    best = max(float(shares @ np.log(sizes)) for sizes in sizes_by_factor)
    of_classes = found.sum(axis=0)
    assert float(shares @ np.log(of_classes + 1)) >= best - 0.01  # a row of rounding in each class
    sizes = found.sum(axis=1, keepdims=True)
    if sizes.min() > 0:
        apart = np.abs(found * sizes[::-1] - found[::-1] * sizes)
        assert (apart <= sizes.sum() + 1e-9).all()  # half a row of rounding in every cell


@given(seed=st.integers(0, 1_000))
@settings(max_examples=30)
def test_every_combination_of_several_cues_is_balanced(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own = rng.integers(20, 80, size=(4, 2))
    carriers, labels = _rows(own)
    kept = rebalanced_rows(carriers, labels, rng)
    shares = []
    for pattern in product((False, True), repeat=2):
        inside = labels[kept][(carriers[kept] == pattern).all(axis=1)]
        if len(inside):
            shares.append((inside.mean(), 0.5 / len(inside)))
    lows, highs = (np.array([share + sign * slack for share, slack in shares]) for sign in (-1, 1))
    assert lows.max() <= highs.min() + 1e-9


def test_a_cue_that_only_one_class_has_goes_with_all_its_rows() -> None:
    carriers, labels = _rows(np.array([[40, 50, 30], [0, 20, 0]]))
    kept = rebalanced_rows(carriers, labels, np.random.default_rng(0))
    assert kept.tolist() == list(range(120))


def test_a_copy_of_the_label_is_refused() -> None:
    carriers, labels = _rows(np.array([[40, 0], [0, 20]]))
    with pytest.raises(DataError, match="neither the rows with the cue nor the rows without it contain enough rows"):
        rebalanced_rows(carriers, labels, np.random.default_rng(0))


def test_no_rows_are_refused() -> None:
    with pytest.raises(DataError, match="the file has no rows with a label"):
        rebalanced_rows(np.zeros((0, 1), dtype=bool), np.zeros(0, dtype=np.int64), np.random.default_rng(0))
