from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aflite_assets.errors import InvalidInputError
from aflite_assets.models.training.forgetting import epochs_by_rows, forgetting

MATRICES = st.tuples(st.integers(1, 9), st.integers(0, 12)).flatmap(lambda shape: arrays(np.bool_, shape))


def _by_hand(row: list[bool]) -> tuple[int, bool, int, int]:
    """One row's events, whether it was never right, how often it was, and the first epoch in which it was."""
    events = 0
    for before, after in pairwise(row):
        if before and not after:
            events += 1
    return events, not any(row), sum(row), row.index(True) if any(row) else -1


@given(MATRICES)
def test_counts_are_those_of_a_loop_over_rows(correct: np.ndarray) -> None:
    counted = forgetting(correct)
    expected = [_by_hand(row) for row in correct.T.tolist()]
    fields = (counted.events, counted.never_learnt, counted.right, counted.first_learnt)
    assert list(zip(*(field.tolist() for field in fields), strict=True)) == expected
    assert counted.events.max(initial=0) <= len(correct) // 2
    assert counted.forgettable.tolist() == [events > 0 or never for events, never, *_ in expected]
    assert sum(counted.histogram().values()) == correct.shape[1]


def test_the_histogram_has_never_learnt_rows_apart() -> None:
    correct = np.array([[1, 0, 1, 0, 1], [0, 0, 1, 0, 0], [1, 0, 1, 0, 1], [0, 0, 1, 1, 1]], dtype=bool)
    assert forgetting(correct).histogram() == {"0": 2, "1": 1, "2": 1, "never_learnt": 1}


@pytest.mark.parametrize("correct", [np.zeros((0, 4), bool), np.zeros(4, bool), np.zeros((2, 4))])
def test_other_arrays_are_refused(correct: np.ndarray) -> None:
    with pytest.raises(InvalidInputError, match="`correct` is an array of type"):
        forgetting(correct)


def test_a_published_column_is_read_by_epoch_and_row() -> None:
    column = pa.chunked_array([[True, False, True], [False, False, True]])
    assert epochs_by_rows(column, 2).tolist() == [[True, False, True], [False, False, True]]


@pytest.mark.parametrize(
    ("row", "events", "never", "first"),
    [
        ([1, 1, 1, 1, 1], 0, False, 0),
        ([0, 0, 0, 0, 0], 0, True, -1),
        ([1, 0, 1, 0, 1], 2, False, 0),
        ([0, 1, 0, 1, 0], 2, False, 1),
        ([0, 0, 0, 0, 1], 0, False, 4),
        ([1], 0, False, 0),
        ([0], 0, True, -1),
    ],
)
def test_edges(row: list[int], events: int, never: bool, first: int) -> None:
    counted = forgetting(np.array(row, dtype=bool)[:, None])
    assert (counted.events[0], counted.never_learnt[0], counted.first_learnt[0]) == (events, never, first)


def test_after_one_epoch_forgettable_is_what_was_wrong() -> None:
    correct = np.array([[True, False, True, False]])
    assert forgetting(correct).forgettable.tolist() == [False, True, False, True]
