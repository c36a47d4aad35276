"""The engine against scikit-learn's optimum in float64: the same predictions for 99.99 % of held-out rows."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings, Scores, score_rows
from aflite_assets.algorithm.partitions import draw_partitions
from aflite_assets.algorithm.reference import fit_linear_svm, fit_logistic

# Most rows are only predicted: pairs are cheap there, and few of them would not tell 99.99 % from 99.9 %.
ROWS, TRAINABLE = 15_000, 3000
FITS = {"logistic": (fit_logistic,), "linear_svm": (fit_linear_svm,), "both": (fit_logistic, fit_linear_svm)}


@dataclass(frozen=True)
class Agreement:
    """`differing`: at least so many (row, partition) pairs, of `pairs`, differ in being right; `gaps`: of label
    probability, per row."""

    differing: int
    pairs: int
    gaps: np.ndarray | None


@pytest.fixture
def all_optimal(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Every classifier must reach its optimum."""
    caplog.set_level(logging.WARNING)
    yield
    assert [record.getMessage() for record in caplog.records if "optimum" in record.getMessage()] == []


def right(scores: Scores, predictions: int = 1) -> np.ndarray:
    """Right predictions per row."""
    counts = scores.held_out_count * predictions
    exact = np.where(counts > 0, scores.predictability, 0.0).astype(np.float64) * counts
    rounded = np.round(exact)
    assert np.abs(exact - rounded).max() < 1e-3
    return rounded.astype(np.int64)


def compared(
    features: np.ndarray,
    labels: np.ndarray,
    subsets: Sequence[np.ndarray],
    *,
    classifier: str = "logistic",
    strength: float = 1.0,
    trainable: int = TRAINABLE,
    **options: Any,
) -> Agreement:
    """Rows from `trainable` on are predicted only."""
    chosen: Any = {"classifier": classifier, "inverse_regularization": strength, "n_partitions": len(subsets)}
    settings = FilterSettings(target_size=10, train_size=len(subsets[0]), slice_size=5, **chosen)
    given: dict[str, Any] = {"settings": settings, "seed": 3, "partitions": subsets, "device": "cpu"}
    given["score_only"] = np.arange(len(labels)) >= trainable if trainable < len(labels) else None
    scores = score_rows(features, labels, **given, **options)
    references = [
        score_rows(features, labels, **given, fit=partial(fit, inverse_regularization=strength))
        for fit in FITS[classifier]
    ]
    np.testing.assert_array_equal(scores.held_out_count, references[0].held_out_count)
    expected = np.sum([right(reference) for reference in references], axis=0)
    gaps = None
    if classifier == "linear_svm":
        assert scores.label_probability is None
    else:
        assert scores.label_probability is not None
        assert references[0].label_probability is not None
        gaps = np.abs(scores.label_probability - references[0].label_probability)
    differing = int(np.abs(right(scores, len(references)) - expected).sum())
    return Agreement(differing, int(scores.held_out_count.sum()) * len(references), gaps)


def assert_agrees(agreement: Agreement, *, copies: int = 1) -> None:
    """`copies` of one row are right or wrong together."""
    assert agreement.pairs >= 50_000
    assert agreement.differing <= max(copies, 1e-4 * agreement.pairs)
    if agreement.gaps is not None:
        assert np.nanmax(agreement.gaps) < 4e-3


def blobs(
    classes: int, distance: float, *, rows: int = ROWS, width: int = 24, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Normal clusters whose centres lie about `distance` from the middle, in directions of falling spread."""
    rng = np.random.default_rng((seed, classes, width))
    labels = rng.integers(0, classes, rows)
    centres = rng.normal(size=(classes, width)) / np.sqrt(width)
    features = (rng.normal(size=(rows, width)) + distance * centres[labels]) * np.geomspace(1.0, 0.2, width)
    return features.astype(np.float32), labels


def drawn(rows: int, share: float, *, n_partitions: int = 5) -> list[np.ndarray]:
    size = int(share * rows)
    return draw_partitions(np.arange(rows), None, train_size=size, n_partitions=n_partitions, seed=8, iteration=0)


@pytest.mark.usefixtures("in_float32", "all_optimal")
class TestCompiled:
    @pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
    @pytest.mark.parametrize("distance", [0.0, 1.0, 8.0])
    @pytest.mark.parametrize("classes", [2, 3, 10])
    def test_from_hopeless_to_nearly_separable(self, classes: int, distance: float, classifier: str) -> None:
        features, labels = blobs(classes, distance)
        assert_agrees(compared(features, labels, drawn(TRAINABLE, 0.2), classifier=classifier))

    @pytest.mark.parametrize("classes", [2, 3])
    def test_both_classifiers_at_once(self, classes: int) -> None:
        features, labels = blobs(classes, 2.0)
        assert_agrees(compared(features, labels, drawn(TRAINABLE, 0.2), classifier="both"))

    def test_a_hundred_classes(self) -> None:
        features, labels = blobs(100, 12.0, rows=32_000, width=40)
        subsets = drawn(6000, 0.1, n_partitions=2)
        assert_agrees(compared(features, labels, subsets, trainable=6000))

    @pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
    @pytest.mark.parametrize(("share", "n_partitions"), [(0.02, 5), (0.1, 5), (0.5, 8), (0.9, 36)])
    def test_any_share_of_the_rows(self, share: float, n_partitions: int, classifier: str) -> None:
        features, labels = blobs(3, 2.0)
        subsets = drawn(TRAINABLE, share, n_partitions=n_partitions)
        assert_agrees(compared(features, labels, subsets, classifier=classifier))

    @pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
    def test_collinear_columns(self, classifier: str) -> None:
        features, labels = blobs(3, 3.0)
        mixed = features @ np.random.default_rng(1).normal(size=(24, 20)).astype(np.float32)
        features = np.concatenate([features, mixed, features[:, :6], np.ones((ROWS, 1), np.float32)], axis=1)
        assert_agrees(compared(features, labels, drawn(TRAINABLE, 0.2), classifier=classifier))

    @pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
    @pytest.mark.parametrize("classes", [2, 3])
    def test_columns_of_very_different_scales(self, classes: int, classifier: str) -> None:
        features, labels = blobs(classes, 3.0)
        features = features * np.geomspace(1e-3, 1e3, 24)[np.random.default_rng(2).permutation(24)]
        assert_agrees(compared(features, labels, drawn(TRAINABLE, 0.2), classifier=classifier))

    @pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
    def test_duplicate_rows(self, classifier: str) -> None:
        features, labels = blobs(3, 2.0)
        chosen = np.random.default_rng(3).integers(0, 600, ROWS)
        relabelled = np.where(np.arange(ROWS) % 3, labels[chosen], labels)
        agreement = compared(features[chosen], relabelled, drawn(TRAINABLE, 0.2), classifier=classifier)
        assert_agrees(agreement, copies=int(np.bincount(chosen).max()))

    @pytest.mark.parametrize("strength", [0.01, 100.0])
    @pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
    @pytest.mark.parametrize("classes", [2, 4])
    def test_inverse_regularization(self, classes: int, classifier: str, strength: float) -> None:
        features, labels = blobs(classes, 3.0)
        assert_agrees(compared(features, labels, drawn(TRAINABLE, 0.2), classifier=classifier, strength=strength))

    @pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
    def test_subsets_that_lack_classes(self, classifier: str) -> None:
        """Two of three classes have scikit-learn's binary objective; a single one is always predicted."""
        features, labels = blobs(3, 2.0)
        rng = np.random.default_rng(4)
        groups = [(0, 1), (0, 2), (1, 2), (1,), (0, 1, 2)]
        subsets = [
            np.sort(rng.choice(np.flatnonzero(np.isin(labels[:TRAINABLE], group)), 300, replace=False))
            for group in groups
        ]
        assert_agrees(compared(features, labels, subsets, classifier=classifier))

    @pytest.mark.parametrize("classes", [2, 3])
    def test_a_rare_class(self, classes: int) -> None:
        features, labels = blobs(classes, 2.0)
        labels = np.where((labels == 1) & (np.arange(ROWS) % 60 != 0), 0, labels)
        assert 10 <= (labels[:TRAINABLE] == 1).sum() <= 40
        assert_agrees(compared(features, labels, drawn(TRAINABLE, 0.1)))

    @pytest.mark.parametrize("kind", ["float16", "float64", "int16"])
    def test_other_types_of_features(self, kind: str) -> None:
        features, labels = blobs(3, 2.0)
        given = (features * 100).astype(kind) if kind == "int16" else features.astype(kind)
        strength = 1e-4 if kind == "int16" else 1.0
        assert_agrees(compared(given, labels, drawn(TRAINABLE, 0.2), strength=strength))

    def test_features_far_from_the_origin(self) -> None:
        features, labels = blobs(3, 2.0)
        assert_agrees(compared(features.astype(np.float64) + 1e6, labels, drawn(TRAINABLE, 0.2)))

    @pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
    def test_streamed_features(self, classifier: str) -> None:
        features, labels = blobs(3, 2.0)
        subsets = drawn(TRAINABLE, 0.2)
        assert_agrees(compared(features, labels, subsets, classifier=classifier, memory_limit=2**17))

    @pytest.mark.parametrize("strength", [1.0, 1e4])
    @pytest.mark.parametrize("classes", [2, 3, 10])
    def test_separable_classes(self, classes: int, strength: float) -> None:
        """At the optimum hardly any row has curvature left."""
        features, labels = blobs(classes, 0.0)
        features[:, :classes] += 30.0 * np.eye(classes, dtype=np.float32)[labels]
        agreement = compared(features, labels, drawn(TRAINABLE, 0.2), strength=strength)
        assert agreement.differing == 0

    @pytest.mark.parametrize("classifier", ["logistic", "linear_svm"])
    @pytest.mark.parametrize("classes", [2, 3])
    def test_features_without_spread(self, classes: int, classifier: str) -> None:
        """The most frequent class of the training rows is predicted."""
        labels = np.minimum(np.random.default_rng(0).integers(0, classes + 2, ROWS), classes - 1)
        features = np.full((ROWS, 5), 0.1)
        agreement = compared(features, labels, drawn(TRAINABLE, 0.2), classifier=classifier)
        assert agreement.differing == 0

    def test_sentence_pairs(self, example_data: Path) -> None:
        """MiniLM features of SNLI pairs: 17,679 rows x 384."""
        features = np.load(example_data / "features" / "snli_minilm_features.npy", mmap_mode="r")
        labels = np.load(example_data / "features" / "snli_minilm_labels.npy")
        subsets = drawn(len(labels), 0.1, n_partitions=4)
        agreement = compared(features, labels, subsets, trainable=len(labels))
        assert agreement.pairs == 4 * (len(labels) - len(labels) // 10)
        assert_agrees(agreement)


@pytest.mark.parametrize("classifier", ["logistic", "linear_svm", "both"])
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_small_problems_agree_exactly(classes: int, classifier: str) -> None:
    features, labels = blobs(classes, 2.0, rows=900)
    agreement = compared(features, labels, drawn(900, 0.3, n_partitions=4), classifier=classifier)
    assert agreement.differing == 0
    if agreement.gaps is not None:
        assert np.nanmax(agreement.gaps) < 1e-6


@pytest.mark.parametrize("strength", [0.01, 100.0])
def test_small_problems_agree_exactly_at_other_strengths(strength: float) -> None:
    features, labels = blobs(3, 3.0, rows=900)
    agreement = compared(features, labels, drawn(900, 0.3, n_partitions=4), strength=strength, classifier="both")
    assert agreement.differing == 0


def test_small_problems_whose_subsets_lack_classes_agree_exactly() -> None:
    features, labels = blobs(3, 2.0, rows=900)
    subsets = [np.flatnonzero(np.isin(labels, group))[::3] for group in [(0, 1), (0, 2), (1, 2), (2,)]]
    agreement = compared(features, labels, subsets, classifier="both")
    assert agreement.differing == 0
