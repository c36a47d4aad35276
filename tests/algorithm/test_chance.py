"""Passes over permuted labels, and the loop that stops where its bias is no more than theirs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.algorithm import FilterSettings, InvalidInputError, IsLearnt, StopReason, filter_dataset, score_rows
from aflite_assets.algorithm.chance import permute_labels, score_permuted, share_moved, size_bins

SETTINGS = FilterSettings(target_size=200, train_size=100, slice_size=50, n_partitions=8)


def noise(rows: int = 600, *, share: float = 0.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 5)), (rng.random(rows) < share).astype(np.int64)


def test_permuted_labels_score_what_class_shares_give() -> None:
    features, labels = noise(share=0.8)
    chance = score_permuted(features, labels, settings=SETTINGS, seed=0, passes=5)
    assert chance.bias.shape == (5,)
    assert chance.class_bias.shape == (5, 2)
    assert chance.rows == 600
    assert 0.74 < chance.bias.mean() < 0.83
    assert abs(chance.class_bias.mean() - 0.5) < 0.03
    assert chance.largest == chance.bias.max()


def test_a_tie_between_features_and_labels_is_far_over_chance() -> None:
    features, labels = noise()
    features[:, 0] += 3 * labels
    bias = score_rows(features, labels, settings=SETTINGS, seed=0).representation_bias
    chance = score_permuted(features, labels, settings=SETTINGS, seed=0)
    assert bias > 0.85
    assert chance.largest < 0.6


def test_one_seed_gives_one_answer_and_another_iteration_another() -> None:
    features, labels = noise(200)
    small = FilterSettings(target_size=100, train_size=50, slice_size=20, n_partitions=4)
    first, again, other = (
        score_permuted(features, labels, settings=small, seed=3, passes=2, iteration=iteration).bias
        for iteration in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_large_pool_is_sampled_in_whole_groups_and_trained_on_the_same_share() -> None:
    features, labels = noise(600)
    chance = score_permuted(
        features, labels, settings=SETTINGS, seed=0, groups=np.arange(600) // 4, passes=1, most_rows=101
    )
    assert chance.rows == 100


def test_only_the_rows_given_are_scored() -> None:
    features, labels = noise(600)
    labels[:300] = 0
    chance = score_permuted(features, labels, settings=SETTINGS, seed=0, rows=np.arange(300, 600), passes=3)
    assert chance.rows == 300
    assert 0.4 < chance.bias.mean() < 0.6


def test_no_pass_is_refused() -> None:
    features, labels = noise(50)
    with pytest.raises(InvalidInputError, match="`passes` is 0, but at least one permutation"):
        score_permuted(features, labels, settings=SETTINGS, seed=0, passes=0)


@given(st.lists(st.integers(1, 4), min_size=20, max_size=40), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_permuted_labels_keep_the_rows_of_each_class(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    labels = rng.integers(0, 3, len(groups))
    permuted = permute_labels(labels, groups, rng)
    assert np.bincount(permuted, minlength=3).tolist() == np.bincount(labels, minlength=3).tolist()


@given(st.integers(1, 5), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_permuted_groups_of_one_size_keep_their_make_up(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(20), size))
    labels = rng.integers(0, 3, len(groups))
    permuted = permute_labels(labels, groups, rng)

    def make_ups(values: np.ndarray) -> list[tuple[int, ...]]:
        return sorted(tuple(sorted(values[groups == group].tolist())) for group in range(20))

    assert make_ups(permuted) == make_ups(labels)


def test_groups_of_unequal_sizes_exchange_their_labels() -> None:
    rng, sizes = np.random.default_rng(0), np.arange(1, 101)
    groups = np.repeat(np.arange(100), sizes)
    labels = groups % 2
    permuted = np.stack([permute_labels(labels, groups, rng) for _ in range(200)])
    assert np.mean([share_moved(labels, one) for one in permuted]) == pytest.approx(1, abs=0.05)
    # groups of one class stay nearly so: a larger group is filled up from the rest of others of about its size
    shares = np.stack([np.bincount(groups, one) / sizes for one in permuted])
    assert np.abs(shares - 0.5).mean() > 0.42


def test_few_groups_are_permuted_row_by_row() -> None:
    groups = np.repeat(np.arange(10), 50)
    permuted = permute_labels(groups % 2, groups, np.random.default_rng(0))
    assert np.bincount(groups, permuted).tolist() == pytest.approx([25] * 10, abs=12)
    assert np.bincount(groups, permuted).min() > 0


def test_sizes_are_joined_until_a_bin_has_twenty_groups() -> None:
    sizes = np.array([2] * 25 + [3] * 4 + [4] * 17 + [9] * 3)
    bins = size_bins(sizes)
    assert [sorted(set(sizes[one].tolist())) for one in bins] == [[2], [3, 4, 9]]
    assert [len(one) for one in size_bins(np.array([5] * 30))] == [30]


def test_groups_that_hold_all_labels_in_place_are_seen() -> None:
    labels = np.array([0, 0, 1, 1])
    assert share_moved(labels, labels) == 0.0
    assert share_moved(labels, 1 - labels) == 2.0
    assert share_moved(np.zeros(4, np.int64), np.zeros(4, np.int64)) == 1.0
    one_size_per_class = np.repeat(np.arange(40), np.where(np.arange(40) < 20, 1, 50))
    by_size = (np.bincount(one_size_per_class)[one_size_per_class] == 1).astype(np.int64)
    noise_features = np.random.default_rng(0).normal(size=(len(by_size), 3))
    chance = score_permuted(noise_features, by_size, settings=SETTINGS, seed=0, groups=one_size_per_class, passes=2)
    assert chance.moved == 0.0
    assert not chance.labels_moved


def test_permuted_labels_end_up_anywhere() -> None:
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(50), 2)
    labels = groups % 2
    permuted = np.stack([permute_labels(labels, groups, rng) for _ in range(200)])
    assert (permuted[:, ::2] == permuted[:, 1::2]).all()
    assert np.abs(permuted.mean(axis=0) - 0.5).max() < 0.15


def test_noise_is_kept_whole_where_filtering_stops_at_chance() -> None:
    features, labels = noise(share=0.6)
    stopping = FilterSettings(target_size=200, train_size=100, slice_size=50, n_partitions=8, stop_at_chance=True)
    result = filter_dataset(features, labels, settings=stopping, seed=0)
    assert result.stop_reason is StopReason.CHANCE
    assert len(result.kept_rows) == 600
    assert [record.removed for record in result.iterations] == [0, 0]
    assert all(record.at_chance for record in result.iterations)


def test_a_shortcut_is_filtered_until_chance_is_reached() -> None:
    features, labels = noise(800)
    features[:300, 0] += 8 * labels[:300] - 4
    whole, stopped = (
        filter_dataset(
            features,
            labels,
            settings=FilterSettings(
                target_size=150, train_size=120, slice_size=40, n_partitions=16, threshold=0.0, stop_at_chance=stops
            ),
            seed=0,
        )
        for stops in (False, True)
    )
    assert whole.stop_reason is StopReason.TARGET_SIZE
    assert stopped.stop_reason is StopReason.CHANCE
    assert len(whole.kept_rows) < len(stopped.kept_rows) < 600
    assert [record.at_chance for record in stopped.iterations[-2:]] == [True, True]
    assert stopped.iterations[0].chance_bias is None  # so far over the largest class's share that nothing is asked


def test_what_is_not_learnt_is_kept_whole_and_asked_once() -> None:
    features, labels = noise()
    settings = FilterSettings(target_size=200, train_size=100, slice_size=50, n_partitions=8, threshold=0.0)
    asked: list[tuple[np.ndarray, np.ndarray | None]] = []

    def answer(learnt: bool) -> IsLearnt:
        return lambda *scores: asked.append(scores) or learnt  # type: ignore[func-returns-value]

    states = []
    result = filter_dataset(
        features,
        labels,
        settings=settings,
        seed=0,
        is_learnt=answer(False),
        on_iteration=lambda _, state: states.append(state),
    )
    assert (result.stop_reason, len(result.kept_rows)) == (StopReason.NOTHING_LEARNT, 600)
    assert [record.removed for record in result.iterations] == [0]
    resumed = filter_dataset(
        features, labels, settings=settings, seed=0, resume=type(states[0]).from_arrays(states[0].to_arrays())
    )
    assert resumed.stop_reason is StopReason.NOTHING_LEARNT
    learnt, plain = (
        filter_dataset(features, labels, settings=settings, seed=0, is_learnt=one) for one in (answer(True), None)
    )
    assert learnt.kept_rows.tolist() == plain.kept_rows.tolist()
    assert len(asked) == 2  # once per run, however many passes
    predictability, probability = asked[0]
    assert probability is not None
    first = score_rows(features, labels, settings=settings, seed=0)
    np.testing.assert_array_equal(predictability.astype(np.float32), first.predictability)
    np.testing.assert_array_equal(probability, first.label_probability)


def test_passes_give_the_probabilities_of_each_class_their_mean() -> None:
    features, labels = noise(share=0.8)
    settings = FilterSettings(target_size=200, train_size=100, slice_size=50, n_partitions=8)
    chance = score_permuted(features, labels, settings=settings, seed=0)
    assert chance.class_probability is not None
    shares = np.bincount(labels) / len(labels)
    assert chance.class_probability.mean(axis=0) == pytest.approx(shares, abs=0.02)
    assert chance.class_probability.mean() == pytest.approx(0.5, abs=0.01)
    machine = replace(settings, classifier="linear_svm")
    assert score_permuted(features, labels, settings=machine, seed=0, passes=1).class_probability is None


def test_stop_at_chance_is_yes_or_no() -> None:
    with pytest.raises(InvalidInputError, match="`stop_at_chance` is 1; give True or False"):
        FilterSettings(target_size=2, train_size=1, slice_size=1, stop_at_chance=1)  # type: ignore[arg-type]


def test_resumed_runs_stop_at_chance_where_uninterrupted_ones_do() -> None:
    features, labels = noise(share=0.6)
    stopping = FilterSettings(target_size=200, train_size=100, slice_size=50, n_partitions=8, stop_at_chance=True)
    states = []
    result = filter_dataset(
        features, labels, settings=stopping, seed=0, on_iteration=lambda _, state: states.append(state)
    )
    resumed = filter_dataset(
        features, labels, settings=stopping, seed=0, resume=type(states[0]).from_arrays(states[0].to_arrays())
    )
    assert resumed.iterations == result.iterations
    assert resumed.stop_reason is StopReason.CHANCE


def test_a_sample_is_trained_on_at_least_one_group() -> None:
    features, labels = noise(240)
    groups = np.repeat(np.arange(8), 30)
    settings = replace(SETTINGS, train_size=50, n_partitions=2)
    given: dict[str, Any] = {"settings": settings, "seed": 0, "groups": groups, "passes": 2}
    assert score_permuted(features, labels, **given, most_rows=120).rows == 120
    assert score_permuted(features, labels, **given, most_rows=40).rows == 60


def test_rows_of_one_class_are_always_predicted() -> None:
    features, labels = noise(240)
    labels[:100] = 7
    given: dict[str, Any] = {"settings": replace(SETTINGS, train_size=50), "seed": 0, "passes": 2}
    chance = score_permuted(features, labels, **given, rows=np.arange(100))
    assert (chance.bias.tolist(), chance.rows, chance.moved) == ([1, 1], 100, 1)
    assert chance.class_probability is not None
    for of_class in (chance.class_bias, chance.class_probability):
        assert np.array_equal(of_class, [[np.nan, np.nan, 1.0]] * 2, equal_nan=True)


def test_a_sample_has_every_class_of_the_pool() -> None:
    features, labels = noise(240)
    labels[:], labels[3], labels[5] = 0, 1, 2
    for seed in range(3):
        chance = score_permuted(features, labels, settings=SETTINGS, seed=seed, passes=2, most_rows=20)
        assert 20 <= chance.rows <= 22
        assert not np.isnan(chance.class_bias).any()
        assert np.nanmean(chance.class_bias) < 0.4


@pytest.mark.parametrize(("rows", "said"), [([240], "contains row 240"), ([], "has the shape"), ([1, 1], "twice")])
def test_rows_that_are_no_row_numbers_are_refused(rows: list[int], said: str) -> None:
    features, labels = noise(240)
    with pytest.raises(InvalidInputError, match=f"`rows` .*{said}|`rows` {said}"):
        score_permuted(features, labels, settings=SETTINGS, seed=0, rows=np.array(rows))


def test_labels_may_be_large_numbers() -> None:
    features, labels = noise(240)
    settings = FilterSettings(target_size=200, train_size=50, slice_size=20, n_partitions=4, stop_at_chance=True)
    assert filter_dataset(features, labels * 10**12, settings=settings, seed=0).classes.tolist() == [0, 10**12]
