import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.diagnostics.properties.ties import (
    NOWHERE,
    independent_rows,
    learn_tie,
    pointed,
)
from aflite_assets.diagnostics.record_tables import random_rows

LABELS = np.repeat([0, 1], 500)


def shares(values: np.ndarray, labels: np.ndarray, value: str) -> list[float]:
    return [float((values[labels == label] == value).mean()) for label in np.unique(labels)]


def place(seed: int = 0, *, apart: float = 0.4) -> np.ndarray:
    """A value of two words, on half of the rows of each class more or less by `apart`."""
    water = np.random.default_rng(seed).random(1_000) < np.where(LABELS == 1, 0.5 + apart, 0.5 - apart)
    return np.where(water, "water", "land").astype(object)


def test_each_value_points_to_the_class_that_it_goes_with() -> None:
    values = place()
    tie = learn_tie(values, LABELS)
    assert dict(zip(tie.names, tie.points_to.tolist(), strict=True)) == {"water": 1, "land": 0}
    assert tie.p_value < 1e-50
    low, high = sorted(shares(values, LABELS, "water"))
    assert tie.overlap == pytest.approx(low + 1 - high)
    assert (pointed(values, tie) == np.where(values == "water", 1, 0)).all()
    assert pointed(np.array(["air"], dtype=object), tie).tolist() == [NOWHERE]


def test_a_value_without_a_tie_points_nowhere() -> None:
    tie = learn_tie(place(apart=0.0), LABELS)
    assert (tie.names, tie.overlap) == ((), 1.0)
    assert tie.p_value > 0.05


def test_rare_values_and_values_of_nearly_all_rows_are_not_asked() -> None:
    values = np.full(1_000, "often", dtype=object)
    values[:19] = "rare"
    assert learn_tie(values, LABELS).names == ()


def test_ties_count_groups_of_rows() -> None:
    """Twenty groups of fifty rows of one label each: a source that eight groups of ten share says little."""
    groups = np.arange(1_000) // 50
    values = np.where(np.isin(groups, [0, 1, 2, 3, 4, 10, 11]), "press", "wiki").astype(object)
    assert learn_tie(values, LABELS).p_value < 1e-4
    assert learn_tie(values, LABELS, groups).p_value > 0.2


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), apart=st.floats(0.15, 0.45), share=st.floats(0.3, 1.0))
def test_independent_rows_have_no_tie_and_the_classes_keep_their_sizes(seed: int, apart: float, share: float) -> None:
    values, rng = place(seed, apart=apart), np.random.default_rng(seed)
    tie = learn_tie(values, LABELS)
    kept = independent_rows(values, LABELS, tie, rng, share=share)
    first, second = shares(values[kept], LABELS[kept], "water")
    assert first == pytest.approx(second, abs=0.01)
    assert np.bincount(LABELS[kept]) == pytest.approx([tie.overlap * share * 500] * 2, abs=1.5)
    alike = random_rows(LABELS, kept, rng)
    assert np.bincount(LABELS[alike]).tolist() == np.bincount(LABELS[kept]).tolist()
