from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from aflite_assets.algorithm import FilterSettings, Predict, Predictions, Scores, score_rows
from aflite_assets.algorithm.partitions import draw_partitions


def settings(**changes: Any) -> FilterSettings:
    return FilterSettings(**({"target_size": 100, "train_size": 40, "slice_size": 10, "n_partitions": 6} | changes))


def assert_same(first: Scores, second: Scores) -> None:
    np.testing.assert_array_equal(first.predictability, second.predictability)
    np.testing.assert_array_equal(first.held_out_count, second.held_out_count)
    assert (first.label_probability is None) == (second.label_probability is None)
    if first.label_probability is not None:
        np.testing.assert_array_equal(first.label_probability, second.label_probability)
    assert first.representation_bias == second.representation_bias
    assert first.scored_bias == second.scored_bias


@pytest.mark.parametrize("n_partitions", [1, 2, 8, 64])
def test_an_oracle_right_on_a_known_half_scores_one_and_zero(n_partitions: int) -> None:
    rng = np.random.default_rng(n_partitions)
    labels, known = rng.integers(0, 2, 200), rng.permutation(200) < 100

    def oracle(features: np.ndarray, given_labels: np.ndarray, classes: np.ndarray) -> Predict:
        def predict(rows: np.ndarray) -> np.ndarray:
            numbers = rows[:, 0].astype(int)
            return np.where(known[numbers], labels[numbers], 1 - labels[numbers])

        return predict

    scores = score_rows(
        np.arange(200.0)[:, None],
        labels,
        settings=settings(train_size=50, n_partitions=n_partitions),
        seed=1,
        fit=oracle,
    )
    held_out = scores.held_out_count > 0
    assert held_out.sum() >= 150
    np.testing.assert_array_equal(scores.predictability[held_out], known[held_out].astype(np.float32))
    assert np.isnan(scores.predictability[~held_out]).all()
    assert scores.representation_bias == known[held_out].mean()
    assert scores.label_probability is None


def by_hand(features: np.ndarray, labels: np.ndarray, subsets: Sequence[np.ndarray], model: Any) -> list[list[bool]]:
    """The loop of Algorithm 1 one row at a time: per row, whether each held-out prediction was right."""
    right: list[list[bool]] = [[] for _ in labels]
    for trained in subsets:
        fitted = model.fit(features[trained], labels[trained])
        for row in sorted(set(range(len(labels))) - set(trained.tolist())):
            right[row].append(bool(fitted.predict(features[[row]])[0] == labels[row]))
    return right


MODELS = {
    "logistic": LogisticRegression(C=1.0, tol=1e-8, solver="newton-cg"),
    "linear_svm": LinearSVC(C=1.0, dual=False, tol=1e-9, intercept_scaling=1000.0, max_iter=100_000),
}


@pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
def test_scores_agree_with_the_loop_written_out_even_for_duplicate_rows(blobs: Any, classifier: str) -> None:
    features = blobs.features - blobs.features.mean(axis=1, keepdims=True)
    features[60:] = features[:60]
    scores = score_rows(features, blobs.labels, settings=settings(classifier=classifier), seed=5)
    subsets = draw_partitions(np.arange(120), None, train_size=40, n_partitions=6, seed=5, iteration=0)
    right = by_hand(features, blobs.labels, subsets, MODELS[classifier])
    assert scores.held_out_count.tolist() == [len(row) for row in right]
    expected = np.array([np.mean(row) if row else np.nan for row in right])
    np.testing.assert_allclose(scores.predictability, expected, rtol=1e-6)
    assert scores.predictability.dtype == np.float32
    assert scores.representation_bias == pytest.approx(np.nanmean(expected))
    assert scores.scored_bias is None


def test_label_probability_is_the_mean_over_held_out_partitions(blobs: Any) -> None:
    subsets = draw_partitions(np.arange(120), None, train_size=40, n_partitions=6, seed=5, iteration=0)
    sums, counts = np.zeros(120), np.zeros(120)
    for trained in subsets:
        held_out = np.setdiff1d(np.arange(120), trained)
        model = LogisticRegression(tol=1e-10, solver="newton-cg").fit(blobs.features[trained], blobs.labels[trained])
        sums[held_out] += model.predict_proba(blobs.features[held_out])[range(len(held_out)), blobs.labels[held_out]]
        counts[held_out] += 1
    scores = score_rows(blobs.features, blobs.labels, settings=settings(), seed=5)
    assert scores.label_probability is not None
    np.testing.assert_allclose(scores.label_probability, sums / counts, atol=1e-6)
    assert scores.label_probability.dtype == np.float32


def test_both_is_the_mean_of_the_two_classifiers(blobs: Any) -> None:
    scores = {
        name: score_rows(blobs.features, blobs.labels, settings=settings(classifier=name), seed=2)
        for name in ("logistic", "linear_svm", "both")
    }
    mean = (scores["logistic"].predictability + scores["linear_svm"].predictability) / 2
    np.testing.assert_allclose(scores["both"].predictability, mean, rtol=1e-6)
    np.testing.assert_array_equal(scores["both"].held_out_count, scores["logistic"].held_out_count)
    np.testing.assert_array_equal(scores["both"].label_probability, scores["logistic"].label_probability)
    assert not np.array_equal(scores["logistic"].predictability, scores["linear_svm"].predictability)


def test_given_probabilities_are_averaged() -> None:
    def fit(features: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> Predict:
        return lambda rows: Predictions(np.zeros(len(rows), dtype=int), np.tile([0.75, 0.25], (len(rows), 1)))

    scores = score_rows(np.zeros((6, 1)), [0, 1] * 3, settings=settings(), seed=0, partitions=[[0], [1]], fit=fit)
    np.testing.assert_array_equal(scores.label_probability, [0.75, 0.25] * 3)


def test_rows_never_held_out_have_no_score(blobs: Any) -> None:
    partitions = [np.arange(40), np.arange(20, 60)]
    scores = score_rows(blobs.features, blobs.labels, settings=settings(), seed=0, partitions=partitions)
    assert scores.held_out_count[:80].tolist() == [1] * 20 + [0] * 20 + [1] * 20 + [2] * 20
    assert np.isnan(scores.predictability[20:40]).all()
    assert scores.label_probability is not None
    assert np.isnan(scores.label_probability[20:40]).all()
    assert not np.isnan(scores.predictability[40:]).any()


@pytest.mark.parametrize("classifier", ["logistic", "linear_svm", "both"])
def test_training_sets_that_lack_classes(blobs: Any, classifier: str) -> None:
    one_class = np.flatnonzero(blobs.labels == 1)[:10]
    two_classes = np.flatnonzero(blobs.labels != 2)[:40]
    for trained, known in ((one_class, {1}), (two_classes, {0, 1})):
        scores = score_rows(
            blobs.features, blobs.labels, settings=settings(classifier=classifier), seed=0, partitions=[trained]
        )
        held_out = scores.held_out_count == 1
        unknown = held_out & ~np.isin(blobs.labels, list(known))
        assert scores.predictability[unknown].max() == 0.0
        assert np.nanmean(scores.predictability[held_out & np.isin(blobs.labels, list(known))]) > 0.7
        if scores.label_probability is not None:
            assert scores.label_probability[unknown].max() == 0.0


def test_score_only_rows_are_scored_as_often_as_others_and_trained_on_by_none(blobs: Any) -> None:
    score_only = np.arange(120) >= 90
    trained_on: list[np.ndarray] = []

    def fit(features: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> Predict:
        trained_on.append(features[:, 0])
        return lambda rows: np.ones(len(rows), dtype=int)

    scores = score_rows(
        np.arange(120.0)[:, None], blobs.labels, settings=settings(), seed=0, score_only=score_only, fit=fit
    )
    assert len(trained_on) == 6
    assert np.concatenate(trained_on).max() < 90
    # Six partitions of 40 of 90 rows: each holds a row out with probability 50/90, a score_only row too.
    assert scores.held_out_count[90:].mean() == pytest.approx(6 * 50 / 90, abs=5 * (6 * 50 * 40 / 90**2 / 30) ** 0.5)
    assert len(set(scores.held_out_count[90:])) > 2
    assert scores.scored_bias == pytest.approx((blobs.labels[90:] == 1).mean())
    held_out = scores.held_out_count[:90] > 0
    assert scores.representation_bias == pytest.approx((blobs.labels[:90][held_out] == 1).mean())


def test_groups_share_their_held_out_partitions(blobs: Any) -> None:
    groups = np.arange(120) // 4
    scores = score_rows(blobs.features, blobs.labels, settings=settings(), seed=3, groups=groups)
    assert all(len(set(counts)) == 1 for counts in scores.held_out_count.reshape(30, 4).tolist())


def test_given_partitions_equal_the_drawn_ones(blobs: Any) -> None:
    drawn = draw_partitions(np.arange(120), None, train_size=40, n_partitions=6, seed=5, iteration=0)
    shuffled = [np.random.default_rng(0).permutation(rows) for rows in drawn]
    base = score_rows(blobs.features, blobs.labels, settings=settings(), seed=5)
    assert_same(score_rows(blobs.features, blobs.labels, settings=settings(), seed=0, partitions=shuffled), base)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64])
def test_the_width_of_the_numbers_does_not_matter(blobs: Any, dtype: type) -> None:
    features = np.round(blobs.features * 2).astype(dtype)
    narrow = score_rows(features, blobs.labels, settings=settings(), seed=3)
    assert_same(narrow, score_rows(features.astype(np.float64), blobs.labels, settings=settings(), seed=3))


def test_a_memory_map_gives_the_same(blobs: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", blobs.features)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    base = score_rows(blobs.features, blobs.labels, settings=settings(), seed=3)
    assert isinstance(mapped, np.memmap)
    assert_same(score_rows(mapped, blobs.labels, settings=settings(), seed=3), base)


def test_lists_are_taken_as_arrays(blobs: Any) -> None:
    base = score_rows(blobs.features, blobs.labels, settings=settings(), seed=3)
    assert_same(score_rows(blobs.features.tolist(), blobs.labels.tolist(), settings=settings(), seed=3), base)


@pytest.mark.parametrize(("memory_limit", "rows"), [(1000, 40), (2**16, 120)])
def test_the_memory_limit_does_not_change_scores(blobs: Any, memory_limit: int, rows: int) -> None:
    given = (blobs.features[:rows], blobs.labels[:rows])
    chosen = settings(target_size=rows - 1, train_size=rows // 3)
    base = score_rows(*given, settings=chosen, seed=3)
    other = score_rows(*given, settings=chosen, seed=3, memory_limit=memory_limit)
    np.testing.assert_array_equal(other.predictability, base.predictability)


@pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
def test_renaming_classes_changes_nothing(blobs: Any, classifier: str) -> None:
    names = np.array([17, 4, 9])
    chosen = settings(classifier=classifier)
    base = score_rows(blobs.features, blobs.labels, settings=chosen, seed=3)
    renamed = score_rows(blobs.features, names[blobs.labels], settings=chosen, seed=3)
    np.testing.assert_array_equal(renamed.predictability, base.predictability)
    if base.label_probability is not None and renamed.label_probability is not None:
        np.testing.assert_allclose(renamed.label_probability, base.label_probability, atol=1e-6)


def test_inputs_are_not_modified(blobs: Any) -> None:
    given = {
        "features": blobs.features.copy(),
        "labels": blobs.labels.copy(),
        "groups": np.arange(120) // 2,
        "score_only": np.arange(120) > 100,
    }
    before = {name: array.copy() for name, array in given.items()}
    for array in given.values():
        array.setflags(write=False)
    score_rows(settings=settings(classifier="both"), seed=0, **given)
    for name, array in given.items():
        np.testing.assert_array_equal(array, before[name])


def test_linear_svm_has_no_probabilities(blobs: Any) -> None:
    assert (
        score_rows(blobs.features, blobs.labels, settings=settings(classifier="linear_svm"), seed=0).label_probability
        is None
    )


def test_score_only_rows_change_nothing_for_the_others(blobs: Any) -> None:
    alone = score_rows(blobs.features[:90], blobs.labels[:90], settings=settings(), seed=3)
    beside = score_rows(blobs.features, blobs.labels, settings=settings(), seed=3, score_only=np.arange(120) >= 90)
    np.testing.assert_array_equal(beside.predictability[:90], alone.predictability)
    assert beside.representation_bias == alone.representation_bias


@pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
def test_permuting_rows_permutes_scores(blobs: Any, classifier: str) -> None:
    order = np.random.default_rng(1).permutation(120)
    places = np.argsort(order)
    partitions = draw_partitions(np.arange(120), None, train_size=40, n_partitions=6, seed=5, iteration=0)
    chosen = settings(classifier=classifier)
    base = score_rows(blobs.features, blobs.labels, settings=chosen, seed=3, partitions=partitions)
    moved = score_rows(
        blobs.features[order],
        blobs.labels[order],
        settings=chosen,
        seed=3,
        partitions=[places[rows] for rows in partitions],
    )
    np.testing.assert_array_equal(moved.predictability, base.predictability[order])
    assert moved.representation_bias == pytest.approx(base.representation_bias)
