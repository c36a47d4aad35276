from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.models import classical_evaluators as classical
from aflite_assets.models.classical import families
from aflite_assets.models.classical_evaluators import evaluate_classical
from aflite_assets.specs.models.settings import LinearModelSpec, MaxPpmiSpec, RbfSvmSpec

NAMES = ("a", "b", "c")
LINEAR = LinearModelSpec(kind="linear", inverse_regularization=0.5)
SVM = RbfSvmSpec(kind="rbf_svm", inverse_regularization=2.0, gamma=0.3)


@pytest.fixture
def clusters(table: Callable[..., Examples]) -> Callable[..., Examples]:
    """Overlapping clusters, one per label."""

    def make(labels: np.ndarray, *, seed: int = 0) -> Examples:
        rng = np.random.default_rng(seed)
        centres = np.array([[0, 0, 0], [2, 0, 1], [0, 2, -1]])
        values = (centres[labels] + rng.normal(size=(len(labels), 3))).astype(np.float32)
        return table(labels, NAMES, features=pa.array(values.tolist(), pa.list_(pa.float32())))

    return make


def test_linear_equals_scikit_learn(clusters: Callable[..., Examples]) -> None:
    train, test = clusters(np.arange(90) % 3), clusters(np.arange(40) % 3, seed=1)
    result = evaluate_classical(LINEAR, train, {"test": test})
    direct = LogisticRegression(C=0.5, max_iter=5000).fit(train.features.astype(np.float64), train.labels)
    found = result.predictions["test"]
    assert found.probabilities is not None
    assert (found.predicted.dtype, found.probabilities.dtype) == (np.int64, np.float32)
    np.testing.assert_allclose(found.probabilities, direct.predict_proba(test.features), atol=1e-6)
    np.testing.assert_array_equal(found.predicted, direct.predict(test.features))
    assert result.metrics["train_accuracy"] == direct.score(train.features, train.labels)
    assert (result.metrics["converged"], result.metrics["rows"]) == (1, 90)


def test_svm_equals_scikit_learn(clusters: Callable[..., Examples]) -> None:
    train, test = clusters(np.arange(90) % 3), clusters(np.arange(40) % 3, seed=1)
    result = evaluate_classical(SVM, train, {"test": test})
    direct = SVC(C=2.0, gamma=0.3).fit(train.features, train.labels)
    np.testing.assert_array_equal(result.predictions["test"].predicted, direct.predict(test.features))
    assert result.predictions["test"].probabilities is None
    assert result.metrics["train_accuracy"] == direct.score(train.features, train.labels)


@pytest.mark.parametrize("settings", [LINEAR, SVM])
def test_a_class_without_train_rows_is_never_predicted(
    clusters: Callable[..., Examples], settings: LinearModelSpec | RbfSvmSpec
) -> None:
    train, test = clusters(np.arange(60) % 2 * 2), clusters(np.arange(30) % 3, seed=1)
    found = evaluate_classical(settings, train, {"test": test}).predictions["test"]
    assert set(found.predicted) == {0, 2}
    if isinstance(settings, LinearModelSpec):
        assert found.probabilities is not None
        assert found.probabilities.shape == (30, 3)
        assert (found.probabilities[:, 1] == 0).all()
        np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("settings", [LINEAR, SVM])
def test_one_class_is_always_that_class(
    clusters: Callable[..., Examples], settings: LinearModelSpec | RbfSvmSpec
) -> None:
    train, test = clusters(np.ones(5, dtype=int)), clusters(np.arange(6) % 3)
    result = evaluate_classical(settings, train, {"test": test})
    found = result.predictions["test"]
    assert found.predicted.tolist() == [1] * 6
    assert result.metrics["train_accuracy"] == 1
    if isinstance(settings, RbfSvmSpec):
        assert found.probabilities is None
    else:
        assert found.probabilities is not None
        assert found.probabilities.tolist() == [[0, 1, 0]] * 6


def test_stopping_early_is_a_metric(clusters: Callable[..., Examples], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "MOST_ITERATIONS", 1)
    result = evaluate_classical(LINEAR, clusters(np.arange(90) % 3), {})
    assert result.metrics["converged"] == 0


def test_other_warnings_are_passed_on() -> None:
    class Warns:
        def fit(self, *_: object, **__: object) -> None:
            import warnings

            warnings.warn("look here", UserWarning, stacklevel=1)

    with pytest.warns(UserWarning, match="look here"):
        assert classical._fit(Warns(), np.zeros((1, 1)), np.zeros(1), None)


@pytest.mark.parametrize("settings", [LINEAR, SVM])
def test_an_empty_test_set_has_no_predictions(
    keyword_pairs: Callable[..., Examples], settings: LinearModelSpec | RbfSvmSpec
) -> None:
    train = keyword_pairs(12)
    found = evaluate_classical(settings, train, {"none": train.select([])}).predictions["none"]
    assert found.predicted.shape == (0,)
    assert found.predicted.dtype == np.int64


def test_no_train_rows_is_an_error(clusters: Callable[..., Examples]) -> None:
    train = clusters(np.arange(3))
    with pytest.raises(DataError, match=r"there are no rows to train on"):
        evaluate_classical(LINEAR, Examples(train.table.slice(0, 0), NAMES), {})


def test_probabilities_are_over_the_datasets_classes_when_a_challenge_set_has_fewer(
    clusters: Callable[..., Examples],
) -> None:
    challenge = Examples(clusters(np.arange(10) % 2).table, ("yes", "no"))
    probabilities = (
        evaluate_classical(LINEAR, clusters(np.arange(60) % 3), {"challenge": challenge})
        .predictions["challenge"]
        .probabilities
    )
    assert probabilities is not None
    assert probabilities.shape == (10, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 100.0])
def test_a_word_that_names_the_class_is_all_that_max_ppmi_needs(
    table: Callable[..., Examples], smoothing: float
) -> None:
    def make(count: int, seed: int) -> Examples:
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 3, count)
        noise = [" ".join(f"word{one}" for one in rng.integers(0, 30, 6)) for _ in labels]
        return table(labels, NAMES, text=[f"{text} names{label}" for text, label in zip(noise, labels, strict=True)])

    settings, test = MaxPpmiSpec(kind="max_ppmi", smoothing=smoothing), make(60, 1)
    result = evaluate_classical(settings, make(240, 0), {"test": test})
    found = result.predictions["test"]
    np.testing.assert_array_equal(found.predicted, test.labels)
    assert result.metrics["train_accuracy"] == 1
    assert found.probabilities is not None
    assert found.probabilities.shape == (60, 3)


def test_max_ppmi_sees_the_columns_it_may(keyword_pairs: Callable[..., Examples]) -> None:
    train, test = keyword_pairs(80), keyword_pairs(40, seed=1)
    accuracy = [
        float(np.mean(evaluate_classical(settings, train, {"t": test}).predictions["t"].predicted == test.labels))
        for settings in (MaxPpmiSpec(kind="max_ppmi"), MaxPpmiSpec(kind="max_ppmi", inputs=("text",)))
    ]
    assert accuracy[0] == 1
    assert accuracy[1] < 0.8


@pytest.mark.parametrize("settings", [LINEAR, SVM])
def test_weights_multiply_each_rows_loss(
    clusters: Callable[..., Examples], settings: LinearModelSpec | RbfSvmSpec
) -> None:
    train, test = clusters(np.arange(90) % 3), clusters(np.arange(60) % 3, seed=1)
    weights = np.random.default_rng(2).uniform(0.25, 4, 90).astype(np.float32)
    found = evaluate_classical(settings, train, {"test": test}, row_weights=weights).predictions["test"]
    direct = (SVC(C=2.0, kernel="rbf", gamma=0.3) if settings is SVM else LogisticRegression(C=0.5, max_iter=5000)).fit(
        train.features.astype(np.float64), train.labels, sample_weight=weights
    )
    assert found.predicted.tolist() == direct.predict(test.features.astype(np.float64)).tolist()
    plain = evaluate_classical(settings, train, {"test": test}).predictions["test"]
    assert found.predicted.tolist() != plain.predicted.tolist()
    ones = evaluate_classical(settings, train, {"test": test}, row_weights=np.ones(90, np.float32))
    assert ones.predictions["test"].predicted.tolist() == plain.predicted.tolist()


def test_a_row_of_weight_two_is_as_two_rows_to_max_ppmi(table: Callable[..., Examples]) -> None:
    texts, labels = ["red dog", "red cat", "big dog", "big cat", "red"], np.array([0, 1, 1, 0, 2])
    settings = MaxPpmiSpec(kind="max_ppmi", smoothing=1.0)
    test = table(np.array([0, 1, 2]), NAMES, text=["red big", "dog", "cat"])
    weighted = evaluate_classical(
        settings, table(labels, NAMES, text=texts), {"test": test}, row_weights=np.array([2, 1, 1, 3, 1], np.float32)
    )
    copies = [0, 0, 1, 2, 3, 3, 3, 4]
    copied = evaluate_classical(
        settings, table(labels[copies], NAMES, text=[texts[row] for row in copies]), {"test": test}
    )
    one, other = (fitted.predictions["test"].probabilities for fitted in (weighted, copied))
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_max_ppmi_with_few_classes(keyword_pairs: Callable[..., Examples]) -> None:
    settings, pairs = MaxPpmiSpec(kind="max_ppmi"), keyword_pairs(20)
    named = Examples(pairs.table, ("agrees", "contradicts", "never"))
    probabilities = evaluate_classical(settings, named, {"test": named}).predictions["test"].probabilities
    assert probabilities is not None
    assert (probabilities[:, 2] == 0).all()
    ones = named.select(named.row_ids[named.labels == 1])
    result = evaluate_classical(settings, ones, {"test": named, "none": named.select([])})
    assert result.predictions["test"].predicted.tolist() == [1] * 20
    assert result.predictions["none"].predicted.shape == (0,)
