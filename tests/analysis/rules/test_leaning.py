"""Leaning on planted predictions: what pulls, what only seems to, and what a challenge set says of a tie."""

import numpy as np
import pytest

from aflite_assets.analysis.rules.leaning import (
    NOWHERE,
    ConstructedLoss,
    Leaning,
    broken_tie,
    constructed_loss,
    leaning,
    property_skill,
    pull_weights,
    tie_strengths,
)

ROWS = 1_200


def drawn(seed: int, *, agrees: float = 0.8) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    """Labels of two classes, and the class that each row's value points to, its own with `agrees`."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, ROWS)
    return rng, labels, np.where(rng.random(ROWS) < agrees, labels, 1 - labels)


def predictions(rng: np.random.Generator, labels: np.ndarray, pointed: np.ndarray, follows: float) -> np.ndarray:
    """The class pointed to on a share `follows` of the rows; of the others nine in ten are right."""
    own = np.where(rng.random(len(labels)) < 0.9, labels, 1 - labels)
    return np.where(rng.random(len(labels)) < follows, pointed, own)


def test_the_pull_is_the_difference_of_shares_within_gold_classes() -> None:
    labels = np.array([0] * 20 + [1] * 20)
    pointed = np.array([1] * 8 + [NOWHERE] * 12 + [1] * 20)
    predicted = np.array([1] * 6 + [0] * 2 + [1] * 3 + [0] * 9 + [1] * 20)
    weights, carriers = pull_weights(labels, pointed)
    # of class 0: 6 of 8 carriers are given class 1, and 3 of 12 others; all rows of class 1 point to their own
    assert carriers == 8
    assert weights[np.arange(40), predicted].sum() == pytest.approx(6 / 8 - 3 / 12)


def test_pairs_weigh_by_their_smaller_side() -> None:
    labels = np.array([0] * 40 + [1] * 40)
    pointed = np.array([1] * 10 + [0] * 30 + [0] * 20 + [1] * 20)
    weights, carriers = pull_weights(labels, pointed)
    assert carriers == 30
    assert weights[0, 1] / weights[40, 0] == pytest.approx((10 * 30 / 40 / 10) / (20 * 20 / 40 / 20))
    assert weights.sum() == pytest.approx(0.0)


def test_models_that_follow_the_value_lean_and_those_that_cannot_see_it_do_not() -> None:
    rng, labels, pointed = drawn(0)
    follows, free = ([predictions(rng, labels, pointed, share) for _ in range(3)] for share in (0.6, 0.0))
    found = leaning(follows, free, labels, pointed)
    assert found.pull is not None
    assert found.pull.difference == pytest.approx(60, abs=8)
    assert found.p_value is not None
    assert found.p_value < 1e-6
    unseen = leaning(free, [predictions(rng, labels, pointed, 0.0) for _ in range(3)], labels, pointed)
    assert unseen.p_value is not None
    assert unseen.p_value > 0.2


def test_a_pull_that_stays_without_the_tie_is_no_leaning() -> None:
    rng, labels, pointed = drawn(1)
    tied, independent = ([predictions(rng, labels, pointed, 0.5) for _ in range(3)] for _ in range(2))
    found = leaning(tied, independent, labels, pointed)
    assert found.pull is not None
    assert found.pull.low > 30
    assert found.p_value == 1.0


def test_nulls_are_rarely_called_a_leaning() -> None:
    called = 0
    for seed in range(60):
        rng, labels, pointed = drawn(seed, agrees=0.6)
        tied, independent = ([predictions(rng, labels, pointed, 0.0) for _ in range(3)] for _ in range(2))
        called += (leaning(tied, independent, labels, pointed).p_value or 0.0) <= 0.05
    assert called <= 3


def test_a_class_that_the_value_points_away_from_is_no_leaning() -> None:
    """Rows of the class itself get it less often with the value, so the value makes rows hard and draws nothing."""
    rng, labels, pointed = drawn(2)
    against = [np.where(rng.random(ROWS) < 0.5, 1 - pointed, labels) for _ in range(3)]
    assert leaning(against, [labels] * 3, labels, pointed).p_value == 1.0


def test_few_carriers_tell_nothing() -> None:
    labels = np.array([0, 1] * 50)
    pointed = labels.copy()
    pointed[:20] = 1 - pointed[:20]
    assert leaning([labels] * 3, [labels] * 3, labels, pointed) == Leaning(20)
    assert Leaning(20).p_value is None


def test_a_challenge_set_breaks_a_tie_and_models_lose_there() -> None:
    _, labels, pointed = drawn(3)
    _, there, reversed_ = drawn(4, agrees=0.2)
    right = [there == np.where(np.arange(ROWS) % 2 == 0, reversed_, there)] * 3
    found = broken_tie("reversed", (labels, pointed, None), (there, reversed_, None), right)
    assert found is not None
    assert (found.natural, found.challenge) == (pytest.approx(60, abs=6), pytest.approx(-60, abs=6))
    assert found.loss.difference == pytest.approx(50, abs=6)
    assert found.p_value < 1e-6
    same = broken_tie("same", (labels, pointed, None), (labels, pointed, None), [labels == pointed] * 3)
    assert same is not None
    assert same.p_value > 0.99
    assert broken_tie("agrees", (labels, pointed, None), (there, there, None), right) is None


def test_a_constructed_set_tells_only_where_it_surely_breaks_the_tie() -> None:
    _, labels, pointed = drawn(3)
    _, there, reversed_ = drawn(4, agrees=0.2)
    natural, nothing = (labels, pointed, None), np.full(ROWS, NOWHERE)
    right = [there == np.where(np.arange(ROWS) % 2 == 0, reversed_, there)] * 3
    lost = constructed_loss(natural, (there, reversed_, None), right, (0.0, 1.0))
    assert lost is not None
    assert lost.points == pytest.approx(50, abs=6)
    assert (lost.p_value < 1e-6, lost.of) == (True, "contradicting rows")
    taken_out = constructed_loss(natural, (there, nothing, None), right, (5.0, 0.01))
    assert taken_out == ConstructedLoss(5.0, 0.01, "set")
    small = constructed_loss(natural, (there, nothing, None), right, (4.99, 0.01))
    assert small == ConstructedLoss(4.99, 1.0, "set")
    assert constructed_loss(natural, natural, right, (30.0, 0.0)) is None


def test_ties_are_compared_between_groups_of_rows() -> None:
    _, labels, pointed = drawn(5)
    _, there, weaker = drawn(6, agrees=0.6)
    fours = np.repeat(np.arange(ROWS // 4), 4)
    order = np.repeat(np.arange(ROWS // 4) * 4, 4)  # four copies of a row are one row
    alone = tie_strengths((labels, pointed, None), (there[order], weaker[order], None))
    grouped = tie_strengths((labels, pointed, None), (there[order], weaker[order], fours))
    assert alone[:2] == grouped[:2]
    assert alone[2] < grouped[2] < 0.5


def test_skill_of_a_property_by_itself() -> None:
    labels = np.array([0, 0, 1, 1, 2, 2])
    pointed = np.array([0, 0, 1, 0, NOWHERE, NOWHERE])
    # right on 1, a half and a third (by chance): mean 11/18
    assert property_skill(pointed, labels, 3) == pytest.approx((11 / 18 - 1 / 3) / (2 / 3))
