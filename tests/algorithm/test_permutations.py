"""Scores of several permutations of the labels: fitted together, they equal those of one pass after the other."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings, InvalidInputError, Scores, score_rows
from aflite_assets.algorithm.chance import permute_labels
from aflite_assets.algorithm.linear.engine import linear_engine, preparation
from aflite_assets.algorithm.linear.engine.fitting import Fits
from aflite_assets.algorithm.linear.engine.training_sets import TrainingSets
from aflite_assets.algorithm.scoring import score_permutations

ROWS, SEEDS = 400, (3, 2**62 + 1, 5, 8, 13)
SETTINGS = FilterSettings(target_size=100, train_size=60, slice_size=40, n_partitions=8)


def permutations_of(
    shares: tuple[float, ...], groups: np.ndarray | None = None, *, width: int = 6
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return features with a column of large values, and one permutation of the labels per seed."""
    rng = np.random.default_rng(len(shares))
    labels = rng.choice(len(shares), ROWS, p=shares) * 7
    features = rng.normal(size=(ROWS, width)) * np.geomspace(30.0, 0.1, width)
    return features, [permute_labels(labels, groups, rng) for _ in SEEDS]


def one_by_one(features: np.ndarray, permuted: list[np.ndarray], **given: Any) -> list[Scores]:
    return [score_rows(features, labels, seed=seed, **given) for labels, seed in zip(permuted, SEEDS, strict=True)]


def together(features: np.ndarray, permuted: list[np.ndarray], **given: Any) -> list[Scores]:
    given = {"groups": None, "device": "cpu", "memory_limit": 2**30} | given
    return score_permutations(features, permuted, seeds=SEEDS, **given)


def assert_same(actual: list[Scores], expected: list[Scores]) -> None:
    assert len(actual) == len(expected) == len(SEEDS)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one.predictability, other.predictability)
        np.testing.assert_array_equal(one.held_out_count, other.held_out_count)
        assert one.representation_bias == other.representation_bias
        assert (one.label_probability is None) is (other.label_probability is None)
        if one.label_probability is not None and other.label_probability is not None:
            np.testing.assert_allclose(one.label_probability, other.label_probability, rtol=0, atol=2e-7)
    assert len({one.representation_bias for one in actual}) > 1


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[TrainingSets]:
    """The training sets of each call of `fit`, in order."""
    calls, fit = [], linear_engine.fit

    def recording(passes: Any, sets: TrainingSets, *given: Any, **options: Any) -> Fits:
        calls.append(sets)
        return fit(passes, sets, *given, **options)

    monkeypatch.setattr(linear_engine, "fit", recording)
    return calls


def numbers(fitted: list[TrainingSets]) -> list[int]:
    return [len(sets) for sets in fitted]


@pytest.mark.parametrize("classifier", ["logistic", "linear_svm", "both"])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.8, 0.2), (0.5, 0.3, 0.2)])
def test_fits_together_equal_one_pass_after_the_other(
    shares: tuple[float, ...], classifier: Any, fitted: list[TrainingSets]
) -> None:
    features, permuted = permutations_of(shares)
    settings = replace(SETTINGS, classifier=classifier)
    actual = together(features, permuted, settings=settings)
    assert numbers(fitted) == [5 * 8] * (2 if classifier == "both" else 1)
    assert_same(actual, one_by_one(features, permuted, settings=settings))


def test_groups_of_unequal_sizes(fitted: list[TrainingSets]) -> None:
    groups = np.sort(np.random.default_rng(1).integers(0, 90, ROWS))
    features, permuted = permutations_of((0.5, 0.5), groups)
    actual = together(features, permuted, settings=SETTINGS, groups=groups)
    assert numbers(fitted) == [5 * 8]
    assert_same(actual, one_by_one(features, permuted, settings=SETTINGS, groups=groups))


def test_training_sets_that_lack_classes(fitted: list[TrainingSets]) -> None:
    features, permuted = permutations_of((0.96, 0.02, 0.02))
    settings = replace(SETTINGS, train_size=12)
    actual = together(features, permuted, settings=settings)
    assert set(fitted[0].seen.sum(axis=1).tolist()) == {1, 2, 3}
    assert_same(actual, one_by_one(features, permuted, settings=settings))


def test_memory_for_two_passes_at_a_time_and_for_one(fitted: list[TrainingSets]) -> None:
    features, permuted = permutations_of((0.5, 0.5))
    expected = one_by_one(features, permuted, settings=SETTINGS)
    # 2 x 8 sets x 60 rows x (8 + 4) numbers, and 400 rows x 8 numbers: 117,760 bytes per label vector, of an eighth
    for most, sizes in ((2, [16, 16, 8]), (1, [8] * 5)):
        fitted.clear()
        actual = together(features, permuted, settings=SETTINGS, memory_limit=most * 8 * 118_000)
        assert numbers(fitted) == sizes
        assert_same(actual, expected)


def test_a_pool_that_is_read_in_blocks(fitted: list[TrainingSets]) -> None:
    features, permuted = permutations_of((0.5, 0.5))
    actual = together(features, permuted, settings=SETTINGS, memory_limit=40_000)
    assert numbers(fitted) == [8] * 5
    assert_same(actual, one_by_one(features, permuted, settings=SETTINGS, memory_limit=40_000))


def test_large_jobs_are_scored_one_by_one_to_the_last_bit(
    monkeypatch: pytest.MonkeyPatch, fitted: list[TrainingSets]
) -> None:
    monkeypatch.setattr(preparation, "_is_small", lambda inputs, settings: False)
    features, permuted = permutations_of((0.5, 0.3, 0.2))
    actual = together(features, permuted, settings=SETTINGS)
    assert numbers(fitted) == [8] * 5
    expected = one_by_one(features, permuted, settings=SETTINGS)
    assert_same(actual, expected)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one.label_probability, other.label_probability)


def test_fits_that_do_not_converge_are_repeated_with_their_own_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    features, permuted = permutations_of((0.5, 0.3, 0.2))
    expected, fit, calls = one_by_one(features, permuted, settings=SETTINGS), linear_engine.fit, []

    def failing(passes: Any, sets: TrainingSets, *given: Any, **options: Any) -> Fits:
        fits = fit(passes, sets, *given, **options)
        calls.append(len(sets))
        if len(sets) > 1:
            fits.weights[10:14], fits.intercepts[10:14], fits.converged[10:14] = 0.0, 0.0, False
        return fits

    monkeypatch.setattr(linear_engine, "fit", failing)
    actual = together(features, permuted, settings=SETTINGS)
    assert calls == [40, 1, 1, 1, 1]
    assert_same(actual, expected)


def test_a_training_size_that_leaves_no_row_is_refused() -> None:
    features, permuted = permutations_of((0.5, 0.5))
    with pytest.raises(InvalidInputError, match="`train_size` is 400, but there are only 400 rows to train on"):
        together(features, permuted, settings=replace(SETTINGS, train_size=ROWS))
