"""Mistakes that were found in public implementations of AFLite, each with the test that it would fail.

Not repeated here, because tests of the modules hold them: a run that ignores the threshold or never stops without a
row over it, rows at the threshold that stay, the least predictable rows first, a run that passes its target, identical
partitions, evaluation rows that are trained on, settings out of range, a last slice that is thrown away, unscored rows
taken for score 0, training sets of the wrong size, classifiers short of their optimum.
"""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from aflite_assets import algorithm
from aflite_assets.algorithm import (
    FilterResult,
    FilterSettings,
    InvalidInputError,
    Predict,
    StopReason,
    filter_dataset,
    score_rows,
)
from aflite_assets.algorithm.linear.engine import EngineTally, LinearEngine
from aflite_assets.algorithm.partitions import draw_partitions
from aflite_assets.algorithm.selection import Candidates, Cut, choose_slice, rows_cut
from aflite_assets.algorithm.tally import Tally


def settings(**changes: Any) -> FilterSettings:
    return FilterSettings(**({"target_size": 20, "train_size": 10, "slice_size": 10, "n_partitions": 8} | changes))


def planted_truth(rows: int, *, width: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels, and which rows a linear classifier is always right about; it is always wrong on the others.

    Every eighth row carries the wrong label: few enough that a training set of some size learns the others' rule.
    """
    rng = np.random.default_rng(seed)
    labels, right = rng.integers(0, 2, rows), rng.permutation(rows) >= rows // 8
    side = np.where(right, labels, 1 - labels) * 2.0 - 1.0
    return side[:, None] * np.arange(1, width + 1) + 0.05 * rng.normal(size=(rows, width)), labels, right


def compile_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the compiled float32 path, which small problems do not take by themselves."""
    monkeypatch.setattr("aflite_assets.algorithm.linear.engine.preparation._is_small", lambda inputs, settings: False)


class _SpiedEngine(LinearEngine):
    """The real engine; it notes the training sets and the pool of every iteration."""

    seen: list[tuple[list[np.ndarray], np.ndarray]]

    def tally(self, subsets: Sequence[np.ndarray], *, pool: np.ndarray, **given: Any) -> EngineTally:
        self.seen.append(([subset.copy() for subset in subsets], pool.copy()))
        return super().tally(subsets, pool=pool, **given)


@pytest.fixture
def training_sets(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[np.ndarray], np.ndarray]]:
    """Training sets and pool of each iteration of the runs to come."""
    seen: list[tuple[list[np.ndarray], np.ndarray]] = []
    monkeypatch.setattr(_SpiedEngine, "seen", seen, raising=False)
    monkeypatch.setattr("aflite_assets.algorithm.linear.engine.LinearEngine", _SpiedEngine)
    return seen


def scripted_run(
    monkeypatch: pytest.MonkeyPatch, iterations: Sequence[tuple[Any, Any]], **changes: Any
) -> FilterResult:
    """A run of the outer loop on given (right predictions, predictions) per row; the last pair is repeated."""
    script = iter([*iterations[:-1], *[iterations[-1]] * 100])
    rows = len(iterations[0][0])

    class Scripted(LinearEngine):
        def tally(self, subsets: Sequence[np.ndarray], *, pool: np.ndarray, **given: Any) -> EngineTally:
            inside = np.isin(np.arange(rows), pool)
            right, asked = (np.asarray(counts) * inside for counts in next(script))
            tally = Tally(right, asked, asked, None, None)
            return EngineTally(tally, start=np.zeros((1, 1, 3)), evaluations=np.zeros((1, len(subsets)), dtype=int))

    monkeypatch.setattr("aflite_assets.algorithm.linear.engine.LinearEngine", Scripted)
    features, labels, _ = planted_truth(rows)
    return filter_dataset(features, labels, settings=settings(**changes), seed=0)


def in_iteration(result: FilterResult, number: int) -> list[int]:
    return result.removed_rows[result.removed_in_iteration == number].tolist()


# Which row a score belongs to


@pytest.mark.parametrize("compiled", [False, True])
def test_rows_must_not_be_told_apart_by_the_mean_of_their_embedding(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiled:
        compile_always(monkeypatch)
    features, labels, right = planted_truth(2000, width=8)
    rows = features.astype(np.float32)
    rows -= rows.mean(axis=1, keepdims=True)
    rows -= rows.mean(axis=1, keepdims=True)
    assert len(np.unique(rows.mean(axis=1))) < 1000  # a key made of means would lose rows
    chosen = settings(target_size=1200, train_size=200, slice_size=300)
    scores = score_rows(rows, labels, settings=chosen, seed=0)
    np.testing.assert_array_equal(scores.predictability, right.astype(np.float32))
    result = filter_dataset(rows, labels, settings=chosen, seed=0)
    assert sorted([*result.kept_rows.tolist(), *result.removed_rows.tolist()]) == list(range(2000))
    assert len(result.removed_rows) == 800
    assert right[result.removed_rows].all()


def test_equal_rows_with_different_labels_must_not_share_a_score() -> None:
    features, labels, right = planted_truth(100)
    twice, both = np.vstack([features, features]), np.append(labels, 1 - labels)
    partitions = [np.random.default_rng(number).choice(100, 40, replace=False) for number in range(4)]
    scores = score_rows(twice, both, settings=settings(), seed=0, partitions=partitions)
    assert scores.held_out_count[100:].tolist() == [4] * 100
    np.testing.assert_array_equal(scores.predictability[100:], 1.0 - right)
    held_out = scores.held_out_count[:100] > 0
    np.testing.assert_array_equal(scores.predictability[:100][held_out], right[held_out])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
def test_scores_must_not_be_credited_to_other_rows_however_often_rows_are_shuffled(
    classifier: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiled:
        compile_always(monkeypatch)
    features, labels, right = planted_truth(400)
    chosen = settings(target_size=240, train_size=100, slice_size=30, n_partitions=64, classifier=classifier)
    scores = score_rows(features, labels, settings=chosen, seed=0).predictability
    assert np.corrcoef(scores, right)[0, 1] == pytest.approx(1.0)
    np.testing.assert_array_equal(scores, right.astype(np.float32))
    # The same through the iterations, in which the pool grows smaller and its rows move up.
    result = filter_dataset(features, labels, settings=chosen, seed=0)
    assert [record.removed for record in result.iterations] == [30] * 5 + [10, 0]
    np.testing.assert_array_equal(result.predictability, right.astype(np.float32))


def test_row_numbers_must_not_pass_through_the_features_number_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """float16 holds whole numbers up to 2,048 exactly; from 4,096 on it holds every fourth."""
    features, labels, right = planted_truth(5000)
    half = features.astype(np.float16)
    chosen = settings(target_size=3000, train_size=500, slice_size=2000)
    for compiled in (False, True):
        with monkeypatch.context() as patch:
            if compiled:
                compile_always(patch)
            result = filter_dataset(half, labels, settings=chosen, seed=0)
        assert sorted([*result.kept_rows.tolist(), *result.removed_rows.tolist()]) == list(range(5000))
        assert right[result.removed_rows].all()
        np.testing.assert_array_equal(result.predictability, right.astype(np.float32))
        assert result.kept_rows.dtype == result.removed_rows.dtype == np.int64


def test_row_numbers_over_what_float32_holds_must_stay_distinct() -> None:
    rows = np.arange(2**24 - 10, 2**24 + 30)
    for groups in (None, np.arange(40) // 2):
        drawn = draw_partitions(rows, groups, train_size=10, n_partitions=8, seed=0, iteration=0)
        for trained in drawn:
            assert len(np.unique(trained)) == 10
            assert np.isin(trained, rows).all()
    ones = np.ones(40, dtype=np.int64)
    among = Candidates(rows, np.arange(40), ones, ones, np.arange(40) / 40)
    chosen = choose_slice(among, settings=settings(threshold=0.5), allowed=7, room=40, seed=0, iteration=0)
    assert chosen.rows.tolist() == list(range(2**24 + 23, 2**24 + 30))
    cut = Cut(lowest=37 / 40, above=-np.inf, rate=1.0)
    assert rows_cut(among, cut, settings=settings(), seed=0, iteration=0).tolist() == list(
        range(2**24 + 27, 2**24 + 30)
    )


# How often a row is tested, and by which classifiers


def test_partitions_must_not_come_from_generators_that_others_share(training_sets: Any) -> None:
    features, labels, _ = planted_truth(60)
    results = []
    for number in (0, 1):
        np.random.seed(number)
        torch.manual_seed(number)
        before = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # type: ignore[index]
        results.append(filter_dataset(features, labels, settings=settings(), seed=5))
        assert before == (np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())  # type: ignore[index]
    np.testing.assert_array_equal(results[0].removed_rows, results[1].removed_rows)
    half = len(training_sets) // 2
    for (first, _), (second, _) in zip(training_sets[:half], training_sets[half:], strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_row_must_not_be_scored_by_a_classifier_that_saw_it() -> None:
    labels = np.arange(60) % 2

    def remember(features: np.ndarray, given_labels: np.ndarray, classes: np.ndarray) -> Predict:
        known = features[:, 0]
        return lambda rows: np.where(np.isin(rows[:, 0], known), labels[rows[:, 0].astype(int)], 2)

    scores = score_rows(np.arange(60.0)[:, None], labels, settings=settings(n_partitions=64), seed=0, fit=remember)
    assert scores.held_out_count.min() > 0
    assert scores.predictability.tolist() == [0.0] * 60


def test_a_score_must_not_grow_with_the_number_of_evaluations() -> None:
    """A row right in its one evaluation is as predictable as one right in all of eight."""
    features, labels, right = planted_truth(200)
    partitions = [np.setdiff1d(np.arange(160), np.arange(20 * number, 20 * number + 20)) for number in range(8)]
    scores = score_rows(features, labels, settings=settings(), seed=0, partitions=partitions)
    assert scores.held_out_count.tolist() == [1] * 160 + [8] * 40
    np.testing.assert_array_equal(scores.predictability, right.astype(np.float32))
    assert scores.representation_bias == 0.875


def test_right_predictions_must_not_be_ranked_undivided(monkeypatch: pytest.MonkeyPatch) -> None:
    right, asked = np.zeros(30, dtype=int), np.full(30, 10)
    right[[3, 7, 11]], asked[[3, 7, 11]] = [7, 6, 2], [10, 8, 2]  # scores 0.7, 0.75 and 1
    result = scripted_run(monkeypatch, [(right, asked)], target_size=28, slice_size=1)
    assert [in_iteration(result, number) for number in (0, 1)] == [[11], [7]]
    assert result.stop_reason is StopReason.TARGET_SIZE
    stopped = scripted_run(monkeypatch, [(right, asked)], target_size=27, slice_size=1)
    assert stopped.removed_rows.tolist() == [11, 7]
    assert stopped.stop_reason is StopReason.THRESHOLD


def test_scores_must_not_mix_the_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    first, then, asked = np.full(30, 0), np.full(30, 0), np.full(30, 8)
    first[:5], then[5:15] = 8, 8  # rows 5 to 14 are never right at first, and always right from then on
    result = scripted_run(monkeypatch, [(first, asked), (then, asked)], target_size=20, slice_size=5, threshold=0.9)
    assert [in_iteration(result, number) for number in (0, 1)] == [[0, 1, 2, 3, 4], result.removed_rows[5:].tolist()]
    assert set(result.removed_rows[5:].tolist()) < set(range(5, 15))
    np.testing.assert_array_equal(result.predictability[result.kept_rows], then[result.kept_rows] / 8)


# Which rows go, and when it ends


def test_without_early_stop_a_slice_that_is_not_full_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    first, then, last, asked = np.full(30, 0), np.full(30, 0), np.full(30, 0), np.full(30, 8)
    first[:3], then[3:5] = 8, 8
    passes = [(first, asked), (then, asked), (last, asked)]
    sizes = {"target_size": 20, "slice_size": 5, "threshold": 0.9}
    ended = scripted_run(monkeypatch, passes, **sizes)
    assert ended.removed_rows.tolist() == [0, 1, 2]
    assert ended.stop_reason is StopReason.THRESHOLD
    went_on = scripted_run(monkeypatch, passes, early_stop=False, **sizes)
    assert [record.removed for record in went_on.iterations] == [3, 2, 0]
    assert went_on.stop_reason is StopReason.THRESHOLD


def test_a_slice_must_not_be_counted_by_row_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows over the threshold have high numbers only, and gaps between them: each slice is still a full one."""
    right = np.where((np.arange(300) >= 200) & (np.arange(300) % 3 == 0), 8, 0)
    result = scripted_run(monkeypatch, [(right, np.full(300, 8))], target_size=270, slice_size=7)
    assert [record.removed for record in result.iterations] == [7, 7, 7, 7, 2, 0]
    assert (right[result.removed_rows] == 8).all()


def test_removed_rows_must_not_be_trained_on_or_scored_again(training_sets: Any) -> None:
    features, labels, _ = planted_truth(200)
    chosen = settings(target_size=100, train_size=40, slice_size=30)
    result = filter_dataset(features, labels, settings=chosen, seed=0)
    for number, (subsets, pool) in enumerate(training_sets):
        gone = result.removed_rows[result.removed_in_iteration < number]
        np.testing.assert_array_equal(pool, np.setdiff1d(np.arange(200), gone))
        assert not np.isin(np.concatenate(subsets), gone).any()


@pytest.mark.parametrize("remove", ["rows", "groups"])
def test_the_order_of_the_file_must_not_decide_ties(remove: str) -> None:
    """Sorted by class, with twice as many rows at score 1 as are removed: no class may lose its rows first."""
    labels, groups = np.repeat([0, 1, 2, 3], 40), np.arange(160) // 2
    features = 10.0 * np.eye(4)[labels]
    chosen = settings(target_size=80, train_size=40, slice_size=80, remove=remove)
    gone = [
        filter_dataset(features, labels, settings=chosen, seed=seed, groups=groups).removed_rows for seed in range(6)
    ]
    for rows in gone:
        assert len(rows) == 80
        assert np.bincount(labels[rows], minlength=4).min() >= 8
    # The mean row number of a random half is 79.5; over six runs its standard deviation is 1.9 in pairs.
    assert abs(np.concatenate(gone).mean() - 79.5) < 5 * 1.9


# Rows of the evaluation sets


@pytest.mark.parametrize("classifier", ["logistic", "both"])
def test_evaluation_rows_must_not_decide_which_train_rows_go(blobs: Any, classifier: str) -> None:
    chosen = settings(target_size=60, slice_size=20, train_size=30, classifier=classifier)
    alone = filter_dataset(blobs.features[:100], blobs.labels[:100], settings=chosen, seed=1)
    beside = filter_dataset(
        np.vstack([blobs.features[:100], 5.0 * blobs.features[:50]]),
        np.append(blobs.labels[:100], (blobs.labels[:50] + 1) % 3),
        settings=chosen,
        seed=1,
        score_only=np.arange(150) >= 100,
    )
    train = beside.removed_rows < 100
    np.testing.assert_array_equal(beside.removed_rows[train], alone.removed_rows)
    np.testing.assert_array_equal(beside.removed_in_iteration[train], alone.removed_in_iteration)
    np.testing.assert_array_equal(beside.predictability[:100], alone.predictability)


def test_mistakes_of_users_must_not_be_found_by_assert_statements() -> None:
    """`python -O` leaves them out. Below `linear/` nothing that a user gives is checked any more."""
    files = sorted(Path(next(iter(algorithm.__path__))).glob("*.py"))
    assert len(files) >= 11
    for file in files:
        assert not [node.lineno for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Assert)], file


def test_a_run_must_not_print_or_write_files(
    blobs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    filter_dataset(blobs.features, blobs.labels, settings=settings(target_size=60), seed=0)
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("grouped", [False, True])
def test_partitions_must_not_be_identical(grouped: bool, training_sets: Any) -> None:
    features, labels, _ = planted_truth(300)
    chosen = settings(target_size=150, train_size=60, slice_size=60, n_partitions=64)
    filter_dataset(features, labels, settings=chosen, seed=42, groups=np.arange(300) // 3 if grouped else None)
    assert len(training_sets) == 4
    drawn = {tuple(subset.tolist()) for subsets, _ in training_sets for subset in subsets}
    assert len(drawn) == 4 * 64


def test_the_threshold_must_not_be_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    right = np.array([6] * 10 + [5] * 20)
    result = scripted_run(monkeypatch, [(right, np.full(30, 8))], target_size=15)
    assert result.removed_rows.tolist() == list(range(10))
    assert [record.cutoff for record in result.iterations] == [0.75, None]


def test_the_least_predictable_rows_over_the_threshold_must_not_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    right = np.array([76, 100, 80, 10, 90, 85, 0, 95, *[50] * 22])
    result = scripted_run(monkeypatch, [(right, np.full(30, 100))], target_size=20, slice_size=2)
    assert [in_iteration(result, number) for number in range(3)] == [[1, 7], [4, 5], [0, 2]]
    assert [record.cutoff for record in result.iterations] == [0.95, 0.85, 0.76, None]


@pytest.mark.parametrize("target_size", range(20, 31))
def test_a_run_must_not_end_short_of_its_target_nor_pass_it(target_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    result = scripted_run(monkeypatch, [(np.full(50, 8), np.full(50, 8))], target_size=target_size)
    assert len(result.kept_rows) == target_size
    assert result.stop_reason is StopReason.TARGET_SIZE


def test_a_run_must_not_go_on_to_the_training_size(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"target_size": 30, "train_size": 3, "slice_size": 30}
    result = scripted_run(monkeypatch, [(np.full(50, 8), np.full(50, 8))], **changes)
    assert [record.removed for record in result.iterations] == [20, 0]


def test_evaluation_rows_must_not_be_trained_on_in_any_iteration(training_sets: Any) -> None:
    features, labels, _ = planted_truth(200)
    score_only = np.arange(200) % 4 == 1
    chosen = settings(target_size=80, train_size=30, slice_size=20)
    result = filter_dataset(features, labels, settings=chosen, seed=0, score_only=score_only)
    assert len(training_sets) == len(result.iterations) == 5
    assert not score_only[np.concatenate([subset for subsets, _ in training_sets for subset in subsets])].any()
    assert all(len(subset) == 30 for subsets, _ in training_sets for subset in subsets)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"slice_size": 0},
            r"`slice_size` is 0, but it must be a whole number of at least 1; give the largest number of rows",
        ),
        (
            {"slice_size": -5},
            r"`slice_size` is -5, but it must be a whole number of at least 1; give the largest number of rows",
        ),
        ({"threshold": 2}, r"`threshold` is 2, but it must be a number from 0 to 1; give the lowest predictability"),
        ({"n_partitions": 0}, r"`n_partitions` is 0, but it must be a whole number of at least 1; give the number"),
        (
            {"train_size": 20},
            r"`train_size` is 20, but `target_size` is 20 and must be larger; lower `train_size`, or raise",
        ),
        (
            {"train_size": 50, "target_size": 50},
            r"`train_size` is 50, but `target_size` is 50 and must be larger; lower",
        ),
        ({"train_size": 60, "target_size": 61}, r"`target_size` is \d+, but only 50 rows count"),
        (
            {"target_size": 0},
            r"`target_size` is 0, but it must be a whole number of at least 1; give the smallest number of train rows",
        ),
        (
            {"slice_size": 21},
            r"`slice_size` is 21, but `target_size` is 20 and must not be smaller; lower `slice_size`",
        ),
    ],
)
def test_settings_out_of_range_must_not_quietly_run_something_else(changes: dict[str, Any], message: str) -> None:
    features, labels, _ = planted_truth(50)
    with pytest.raises(InvalidInputError, match=message):
        filter_dataset(features, labels, settings=settings(**changes), seed=0)
