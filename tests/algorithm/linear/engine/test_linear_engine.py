"""The engine's memory between iterations, and its ways through streaming, repeats and a device's memory."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from aflite_assets.algorithm import FilterSettings
from aflite_assets.algorithm.inputs import Inputs, check_inputs
from aflite_assets.algorithm.linear.engine import EngineTally, LinearEngine, linear_engine
from aflite_assets.algorithm.linear.engine.pool import PoolFeatures, copied_to
from aflite_assets.algorithm.reference import fit_linear_svm, fit_logistic
from aflite_assets.algorithm.tally import Tally, tally_partitions

ROWS, WIDTH = 2600, 20
ALL = np.arange(ROWS)


def inputs_of(classes: int) -> Inputs:
    """Overlapping clusters; the last 100 rows are only scored."""
    rng = np.random.default_rng(classes)
    labels = rng.integers(0, classes, ROWS)
    features = rng.normal(size=(ROWS, WIDTH)) + rng.normal(size=(classes, WIDTH))[labels] * 0.4
    features = (features * np.geomspace(1.0, 0.2, WIDTH)).astype(np.float32)
    return check_inputs(features, labels, groups=None, score_only=ALL >= ROWS - 100, memory_limit=2**30)


def settings(n_partitions: int = 4, **changes: Any) -> FilterSettings:
    given = {"target_size": 100, "train_size": 300, "slice_size": 10, "n_partitions": n_partitions}
    return FilterSettings(**(given | changes))


def subsets_of(pool: np.ndarray, count: int = 4) -> list[np.ndarray]:
    rng = np.random.default_rng(len(pool))
    return [np.sort(rng.choice(pool[pool < ROWS - 100], 300, replace=False)) for _ in range(count)]


def tallied(
    inputs: Inputs,
    pools: Sequence[np.ndarray],
    *,
    memory_limit: int = 2**30,
    given: FilterSettings | None = None,
    keep_probabilities: bool = False,
) -> list[EngineTally]:
    """One iteration after the other, each on its own pool, each started from the one before."""
    tallies: list[EngineTally] = []
    with LinearEngine(
        inputs, given or settings(), seed=5, device="cpu", memory_limit=memory_limit, pool=pools[0]
    ) as made:
        for pool in pools:
            start = tallies[-1].start if tallies else None
            tallies.append(made.tally(subsets_of(pool), pool=pool, start=start, keep_probabilities=keep_probabilities))
    return tallies


def expected_of(inputs: Inputs, pool: np.ndarray, *, keep_probabilities: bool = False, svm: bool = False) -> Tally:
    fits = [partial(fit_linear_svm if svm else fit_logistic, inverse_regularization=1.0)]
    return tally_partitions(
        inputs, subsets_of(pool), pool=pool, fits=fits, memory_limit=2**30, keep_probabilities=keep_probabilities
    )


def assert_agree(actual: Tally, expected: Tally, *, allowed: int = 2, by_class: bool = True) -> None:
    """Of some 9,000 pairs one may differ; two are allowed for chance."""
    np.testing.assert_array_equal(actual.held_out, expected.held_out)
    np.testing.assert_array_equal(actual.predictions, expected.predictions)
    assert np.abs(actual.correct - expected.correct).sum() <= allowed
    assert (actual.instead is not None) is by_class
    if actual.instead is None:
        return
    assert expected.instead is not None
    assert (actual.instead.counts.sum(axis=1) == actual.predictions - actual.correct).all()  # of up to four classes
    assert (actual.instead.counts != expected.instead.counts).any(axis=1).sum() <= allowed
    assert (actual.instead.columns != expected.instead.columns).any(axis=1).sum() <= allowed


def shrinking() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    pools = [ALL]
    for share in (0.7, 0.6, 0.8):
        pools.append(pools[-1][rng.random(len(pools[-1])) < share])
    return pools


@pytest.mark.usefixtures("in_float32")
@pytest.mark.parametrize("n_partitions", [1, 64])
@pytest.mark.parametrize("memory_limit", [2**30, 2**16])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_pool_that_shrinks(classes: int, memory_limit: int, n_partitions: int) -> None:
    inputs, pools = inputs_of(classes), shrinking()
    tallies = tallied(inputs, pools, memory_limit=memory_limit, given=settings(n_partitions))
    for scored, pool in zip(tallies, pools, strict=True):
        assert_agree(scored.tally, expected_of(inputs, pool), by_class=memory_limit == 2**30)
        outside = np.setdiff1d(ALL, pool)
        assert not scored.tally.held_out[outside].any()
        assert not scored.tally.correct[outside].any()
        assert scored.tally.label_probability is not None
        np.testing.assert_array_equal(np.isnan(scored.tally.label_probability), scored.tally.held_out == 0)


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize("classes", [2, 3])
def test_a_pool_that_shrinks_in_float64(classes: int) -> None:
    inputs, pools = inputs_of(classes), shrinking()
    for scored, pool in zip(tallied(inputs, pools), pools, strict=True):
        assert_agree(scored.tally, expected_of(inputs, pool), allowed=0)


@pytest.mark.usefixtures("in_float64")
def test_a_pool_that_shrinks_while_a_device_holds_all_of_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: features are streamed to the device once and kept there, whatever rows are left later."""

    def streamed(*given: Any, **options: Any) -> PoolFeatures:
        return PoolFeatures(*given, **(options | {"hold": False}))

    monkeypatch.setattr(linear_engine, "pool_on", copied_to)
    monkeypatch.setattr(linear_engine, "PoolFeatures", streamed)
    inputs, pools = inputs_of(3), shrinking()
    for scored, pool in zip(tallied(inputs, pools), pools, strict=True):
        assert_agree(scored.tally, expected_of(inputs, pool), allowed=0)


@pytest.mark.usefixtures("in_float32")
@pytest.mark.parametrize("n_partitions", [1, 64])
@pytest.mark.parametrize("memory_limit", [2**30, 2**16])
@pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
def test_fits_repeated_in_float64_reach_the_same_optimum(
    classifier: str, memory_limit: int, n_partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeated, fit = [], linear_engine.fit

    def never_converged(*given: Any, **options: Any) -> Any:
        fits = fit(*given, **options)
        repeated.append(fits.weights.dtype == torch.float64)
        return fits if repeated[-1] else replace(fits, converged=torch.zeros_like(fits.converged))

    monkeypatch.setattr(linear_engine, "fit", never_converged)
    inputs = inputs_of(3)
    given = settings(n_partitions, classifier=classifier)
    scored = tallied(inputs, [ALL], memory_limit=memory_limit, given=given)[0]
    assert sum(repeated) == 4
    expected = expected_of(inputs, ALL, svm=classifier == "linear_svm")
    assert_agree(scored.tally, expected, by_class=memory_limit == 2**30)


@pytest.mark.usefixtures("in_float32")
@pytest.mark.parametrize("n_partitions", [1, 64])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_all_classes(classes: int, n_partitions: int) -> None:
    inputs = inputs_of(classes)
    given = settings(n_partitions, classifier="both")
    scored = tallied(inputs, [ALL], given=given, keep_probabilities=True)[0].tally
    expected = expected_of(inputs, ALL, keep_probabilities=True)
    assert scored.probabilities is not None
    assert expected.probabilities is not None
    assert scored.label_probability is not None
    held_out = scored.held_out > 0
    assert held_out.sum() == ROWS - (expected.held_out == 0).sum()
    np.testing.assert_allclose(scored.probabilities[held_out], expected.probabilities[held_out], atol=4e-3)
    np.testing.assert_allclose(scored.probabilities[held_out].sum(axis=1), 1.0, atol=1e-6)
    own = scored.probabilities[ALL, np.searchsorted(inputs.classes, inputs.labels)]
    np.testing.assert_allclose(scored.label_probability[held_out], own[held_out], atol=1e-6)
    np.testing.assert_array_equal(scored.predictions, 2 * scored.held_out)


@pytest.mark.usefixtures("in_float32")
def test_the_same_run_gives_the_same_bits() -> None:
    inputs, pools = inputs_of(3), shrinking()
    for first, second in zip(tallied(inputs, pools), tallied(inputs, pools), strict=True):
        np.testing.assert_array_equal(first.tally.correct, second.tally.correct)
        np.testing.assert_array_equal(first.tally.label_probability, second.tally.label_probability)
        np.testing.assert_array_equal(first.start, second.start)


@pytest.mark.usefixtures("in_float32")
@pytest.mark.parametrize("n_partitions", [1, 64])
@pytest.mark.parametrize("memory_limit", [2**30, 2**16])
def test_a_run_that_goes_on_gives_the_bits_of_one_that_never_stopped(memory_limit: int, n_partitions: int) -> None:
    inputs, pools, given = inputs_of(3), shrinking(), settings(n_partitions)
    whole = tallied(inputs, pools, memory_limit=memory_limit, given=given)
    with LinearEngine(inputs, given, seed=5, device="cpu", memory_limit=memory_limit, pool=pools[2]) as made:
        scored = made.tally(subsets_of(pools[2]), pool=pools[2], start=whole[1].start)
    np.testing.assert_array_equal(scored.tally.correct, whole[2].tally.correct)
    np.testing.assert_array_equal(scored.tally.label_probability, whole[2].tally.label_probability)
    np.testing.assert_array_equal(scored.start, whole[2].start)
