from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from aflite_assets.algorithm import (
    FilterResult,
    FilterSettings,
    FilterState,
    IterationRecord,
    StopReason,
    filter_dataset,
    score_rows,
)
from aflite_assets.algorithm.partitions import draw_partitions


def settings(**changes: Any) -> FilterSettings:
    return FilterSettings(**({"target_size": 70, "train_size": 40, "slice_size": 20, "n_partitions": 6} | changes))


def run(problem: Any, *, seed: int = 0, changes: dict[str, Any] | None = None, **given: Any) -> FilterResult:
    return filter_dataset(problem.features, problem.labels, settings=settings(**(changes or {})), seed=seed, **given)


def assert_partition(result: FilterResult, rows: int) -> None:
    assert sorted([*result.kept_rows.tolist(), *result.removed_rows.tolist()]) == list(range(rows))
    assert result.kept_rows.tolist() == sorted(result.kept_rows.tolist())
    assert len(result.removed_rows) == len(result.removed_in_iteration)


def test_the_target_cuts_the_last_slice(blobs: Any) -> None:
    result = run(blobs, changes={"target_size": 75})
    assert result.stop_reason is StopReason.TARGET_SIZE
    assert [record.removed for record in result.iterations] == [20, 20, 5, 0]
    assert [record.rows_in for record in result.iterations] == [120, 100, 80, 75]
    assert len(result.kept_rows) == 75
    assert_partition(result, 120)
    assert np.bincount(result.removed_in_iteration).tolist() == [20, 20, 5]


def test_a_target_met_by_a_whole_slice_is_still_the_target(blobs: Any) -> None:
    result = run(blobs, changes={"target_size": 80})
    assert result.stop_reason is StopReason.TARGET_SIZE
    assert [record.removed for record in result.iterations] == [20, 20, 0]


def test_fewer_than_a_slice_passing_are_removed_and_end_it(half_easy: Any) -> None:
    changes = {"target_size": 21, "train_size": 20, "threshold": 0.95, "n_partitions": 32}
    result = run(half_easy, changes=changes)
    assert result.stop_reason is StopReason.THRESHOLD
    assert [record.removed for record in result.iterations] == [20, 10, 0]
    assert result.kept_rows.tolist() == list(range(30, 60))
    assert [record.cutoff for record in result.iterations] == [1.0, 1.0, None]
    assert result.iterations[-1].representation_bias < 0.6 < result.iterations[0].representation_bias


def test_nothing_passes() -> None:
    result = filter_dataset(
        np.zeros((60, 1)),
        np.arange(60) % 2,
        settings=settings(target_size=40, train_size=21, threshold=1.0, n_partitions=32),
        seed=0,
    )
    assert result.stop_reason is StopReason.THRESHOLD
    assert result.kept_rows.tolist() == list(range(60))
    assert [(record.iteration, record.removed, record.cutoff) for record in result.iterations] == [(0, 0, None)]


def test_a_dataset_of_the_target_size_is_only_scored(blobs: Any) -> None:
    result = run(blobs, changes={"target_size": 120})
    assert result.stop_reason is StopReason.TARGET_SIZE
    assert len(result.kept_rows) == 120
    assert [record.removed for record in result.iterations] == [0]
    assert np.isnan(result.predictability).sum() == result.iterations[0].never_held_out < 10


def test_threshold_zero_always_reaches_the_target(half_easy: Any) -> None:
    result = run(half_easy, changes={"target_size": 25, "train_size": 20, "threshold": 0.0})
    assert result.stop_reason is StopReason.TARGET_SIZE
    assert len(result.kept_rows) == 25


def test_one_at_a_time(blobs: Any) -> None:
    result = run(blobs, changes={"target_size": 115, "slice_size": 1})
    assert [record.removed for record in result.iterations] == [1, 1, 1, 1, 1, 0]
    assert len(result.kept_rows) == 115


def test_rows_never_held_out_are_kept(half_easy: Any) -> None:
    changes = {"target_size": 42, "train_size": 40, "threshold": 0.0, "n_partitions": 1}
    result = run(half_easy, changes=changes, seed=2)
    trained = draw_partitions(np.arange(60), None, train_size=40, n_partitions=1, seed=2, iteration=0)[0]
    assert result.iterations[0].never_held_out == 40
    assert result.iterations[0].removed == 18
    assert np.isin(trained, result.kept_rows).all()
    # The last pass holds out 2 of the 42; the other 40 keep what they have, or have nothing.
    assert np.isnan(result.predictability).sum() == (result.held_out_count == 0).sum() >= 38


def test_the_first_iteration_is_score_rows(blobs: Any) -> None:
    scores = score_rows(blobs.features, blobs.labels, settings=settings(), seed=4, keep_probabilities=True)
    result = run(blobs, seed=4)
    assert scores.label_probability is not None
    np.testing.assert_array_equal(result.label_probability, scores.label_probability)
    first = result.removed_in_iteration == 0
    np.testing.assert_array_equal(
        result.predictability[result.removed_rows[first]], scores.predictability[result.removed_rows[first]]
    )
    assert result.iterations[0].representation_bias == scores.representation_bias


@pytest.mark.parametrize("selection", ["greedy", "gumbel_over_threshold"])
@pytest.mark.parametrize("classifier", ["logistic", "linear_svm", "both"])
def test_removed_rows_pass_the_threshold_and_the_easy_ones_go(blobs: Any, selection: str, classifier: str) -> None:
    result = run(blobs, changes={"selection": selection, "classifier": classifier})
    assert (result.predictability[result.removed_rows] >= 0.75).all()
    assert blobs.easy[result.removed_rows].mean() > 0.85
    assert all(record.removed <= 20 for record in result.iterations)
    assert_partition(result, 120)
    for record in result.iterations[:-1]:
        gone = result.removed_rows[result.removed_in_iteration == record.iteration]
        assert record.cutoff == pytest.approx(result.predictability[gone].min())
    assert result.iterations[-1].removed == 0
    assert (result.label_probability is None) == (classifier == "linear_svm")


def test_gumbel_is_drawn_from_the_seed(blobs: Any) -> None:
    rows = [run(blobs, seed=seed, changes={"selection": "gumbel"}).removed_rows.tolist() for seed in (1, 1, 2)]
    assert rows[0] == rows[1] != rows[2]
    assert rows[0] != run(blobs, seed=1).removed_rows.tolist()


def test_records_count_what_entered(blobs: Any) -> None:
    result = run(blobs, score_only=np.arange(120) >= 110)
    for record in result.iterations:
        gone = result.removed_rows[result.removed_in_iteration < record.iteration]
        inside = np.setdiff1d(np.arange(110), gone)
        assert record.rows_in == len(inside)
        assert record.scored_rows_in == 10 - (gone >= 110).sum()
        assert record.rows_per_class == tuple(np.bincount(blobs.labels[inside], minlength=3).tolist())
        assert (record.smallest_train_size, record.largest_train_size) == (40, 40)
        assert record.seconds > 0.0
    assert [record.iteration for record in result.iterations] == list(range(len(result.iterations)))
    assert result.classes.tolist() == [0, 1, 2]


def states_of(problem: Any, **given: Any) -> tuple[FilterResult, list[tuple[IterationRecord, FilterState]]]:
    seen: list[tuple[IterationRecord, FilterState]] = []
    result = run(problem, on_iteration=lambda record, state: seen.append((record, state)), **given)
    return result, seen


def test_on_iteration_sees_every_record_in_order(blobs: Any) -> None:
    result, seen = states_of(blobs)
    assert tuple(record for record, _ in seen) == result.iterations
    assert [state.next_iteration for _, state in seen] == [1, 2, 3, 4]
    assert [state.finished for _, state in seen] == [False, False, False, True]


def test_probabilities_are_kept_when_asked_for(blobs: Any) -> None:
    result = run(blobs, keep_probabilities=True)
    assert result.probabilities is not None
    assert result.label_probability is not None
    assert result.probabilities.shape == (120, 3)
    assert result.probabilities.dtype == np.float32
    held_out = ~np.isnan(result.label_probability)
    assert held_out.sum() == 120 - result.iterations[0].never_held_out
    np.testing.assert_allclose(result.probabilities[held_out].sum(axis=1), 1.0, atol=1e-6)
    own = result.probabilities[np.arange(120), blobs.labels]
    np.testing.assert_allclose(own, result.label_probability, atol=1e-6)
    assert run(blobs).probabilities is None


def test_what_was_predicted_instead_is_what_predictability_lacks(blobs: Any) -> None:
    settings = FilterSettings(target_size=50, train_size=30, slice_size=20, n_partitions=8)
    result = filter_dataset(blobs.features, blobs.labels + 4, settings=settings, seed=6)
    assert result.instead_labels is not None
    assert result.instead_shares is not None
    scored = ~np.isnan(result.predictability)
    np.testing.assert_allclose(result.instead_shares.sum(axis=1)[scored], 1 - result.predictability[scored], atol=1e-6)
    assert set(result.instead_labels[:, :2].ravel().tolist()) == {-1, 4, 5, 6}
    assert (result.instead_labels[:, 2] == -1).all()  # three classes have two others
    assert not (result.instead_labels == (blobs.labels + 4)[:, None]).any()
    assert ((result.instead_labels == -1) == (result.instead_shares == 0)).all()
    assert (np.diff(result.instead_shares, axis=1) <= 0).all()


def test_nothing_is_said_of_other_classes_where_memory_is_short(blobs: Any) -> None:
    settings = FilterSettings(target_size=50, train_size=30, slice_size=20, n_partitions=4)
    result = filter_dataset(blobs.features, blobs.labels, settings=settings, seed=6, memory_limit=16 * 120 * 3 * 4 - 1)
    assert result.instead_labels is None
    assert result.instead_shares is None


def circles_with_artifacts() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two concentric circles; for 75 % of the rows two more columns give the class away (ICML 2020, section 3)."""
    rng = np.random.default_rng(11)
    labels, biased = rng.integers(0, 2, 400), np.arange(400) % 4 != 0
    angle, radius = rng.uniform(0, 2 * np.pi, 400), 1.0 + labels + 0.1 * rng.normal(size=400)
    artifact = rng.normal(size=(400, 2))
    artifact[biased] = 0.3 * rng.normal(size=(biased.sum(), 2)) + np.array([[-2.0, 2.0], [2.0, -2.0]])[labels[biased]]
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), artifact]), labels, biased


def test_ties_do_not_follow_file_order() -> None:
    labels = np.repeat([0, 1], 50)
    features = np.where(labels == 1, 5.0, -5.0)[:, None]
    chosen = settings(target_size=60, train_size=30, slice_size=40)
    removed = [filter_dataset(features, labels, settings=chosen, seed=seed).removed_rows for seed in range(5)]
    assert len({tuple(rows) for rows in removed}) == 5
    for rows in removed:
        assert len(rows) == 40
        assert 8 < (rows < 50).sum() < 32
    again = filter_dataset(features, labels, settings=chosen, seed=3).removed_rows
    np.testing.assert_array_equal(again, removed[3])


def test_same_seed_same_result_and_other_seed_another(blobs: Any) -> None:
    first, again, other = run(blobs, seed=1), run(blobs, seed=1), run(blobs, seed=2)
    np.testing.assert_array_equal(first.removed_rows, again.removed_rows)
    np.testing.assert_array_equal(first.label_probability, again.label_probability)
    assert first.iterations == again.iterations
    assert first.removed_rows.tolist() != other.removed_rows.tolist()


def test_renaming_classes_changes_nothing(blobs: Any) -> None:
    base = run(blobs, seed=3)
    renamed = filter_dataset(blobs.features, np.array([30, 10, 20])[blobs.labels], settings=settings(), seed=3)
    np.testing.assert_array_equal(renamed.removed_rows, base.removed_rows)
    assert renamed.classes.tolist() == [10, 20, 30]


def test_inputs_are_not_modified(blobs: Any) -> None:
    given = {
        "features": blobs.features.astype(np.float32),
        "labels": blobs.labels.copy(),
        "groups": np.arange(120) // 2,
        "score_only": np.arange(120) > 110,
    }
    before = {name: array.copy() for name, array in given.items()}
    for array in given.values():
        array.setflags(write=False)
    filter_dataset(settings=settings(remove="groups"), seed=0, **given)
    for name, array in given.items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
def test_planted_artifacts_are_found(classifier: str) -> None:
    features, labels, biased = circles_with_artifacts()
    chosen = settings(target_size=100, train_size=80, slice_size=50, n_partitions=16, classifier=classifier)
    result = filter_dataset(features, labels, settings=chosen, seed=0)
    assert biased[result.removed_rows].mean() > 0.85
    recall = biased[result.removed_rows].sum() / biased.sum()
    assert recall > 0.8
    assert result.iterations[0].representation_bias > 0.8
    assert result.iterations[-1].representation_bias < result.iterations[0].representation_bias - 0.1


@given(
    n_classes=st.integers(2, 4),
    slice_size=st.integers(1, 12),
    target_size=st.integers(12, 30),
    threshold=st.sampled_from([0.0, 0.4, 0.75, 1.0]),
    selection=st.sampled_from(["greedy", "gumbel_over_threshold"]),
    seed=st.integers(0, 100),
)
@hypothesis_settings(max_examples=25, deadline=None)
def test_any_run_keeps_its_bounds(
    n_classes: int, slice_size: int, target_size: int, threshold: float, selection: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = np.append(np.arange(n_classes), rng.integers(0, n_classes, 30 - n_classes))
    features = rng.normal(size=(30, 2)) + labels[:, None]
    chosen = settings(
        target_size=target_size,
        train_size=8,
        slice_size=slice_size,
        n_partitions=3,
        threshold=threshold,
        selection=selection,
    )
    result = filter_dataset(features, labels, settings=chosen, seed=seed)
    assert_partition(result, 30)
    assert len(result.kept_rows) >= target_size
    assert all(record.removed <= slice_size for record in result.iterations)
    assert np.all(result.predictability[result.removed_rows] >= threshold)
    known = result.predictability[result.held_out_count > 0]
    assert np.all((known >= 0.0) & (known <= 1.0))
    assert result.iterations[-1].removed == 0
    assert (len(result.kept_rows) == target_size) or (result.stop_reason is StopReason.THRESHOLD)
