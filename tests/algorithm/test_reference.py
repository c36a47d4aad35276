from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from aflite_assets.algorithm import FilterSettings, Predict, Predictions
from aflite_assets.algorithm.reference import fit_linear_svm, fit_logistic, reference_fits


def problem(n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Overlapping classes, far from the origin, in columns of different scale; and points to predict."""
    rng = np.random.default_rng(n_classes)
    labels = rng.integers(0, n_classes, 150)
    scales = np.array([1.0, 0.3, 2.0, 1.0])
    features = (rng.normal(size=(150, 4)) + 1.5 * rng.normal(size=(n_classes, 4))[labels]) * scales + 3.0
    return features, labels, rng.normal(size=(2000, 4)) * 3.0 * scales + 3.0


def probabilities_of(
    features: np.ndarray, labels: np.ndarray, points: np.ndarray, *, classes: np.ndarray, strength: float
) -> np.ndarray:
    predicted = fit_logistic(features, labels, classes, inverse_regularization=strength)(points)
    assert isinstance(predicted, Predictions)
    assert predicted.probabilities is not None
    np.testing.assert_array_equal(predicted.labels, classes[predicted.probabilities.argmax(axis=1)])
    return predicted.probabilities


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0])
def test_logistic_is_scikit_learns_optimum(n_classes: int, strength: float) -> None:
    features, labels, points = problem(n_classes)
    model = LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-12, max_iter=10_000).fit(features, labels)
    probabilities = probabilities_of(features, labels, points, classes=np.arange(n_classes), strength=strength)
    np.testing.assert_allclose(probabilities, model.predict_proba(points), atol=1e-7)


@pytest.mark.parametrize("factor", [1e-3, 1e3, 1e6])
@pytest.mark.parametrize("origin", [0.0, 50.0])
def test_scale_and_origin_are_undone_by_c_and_the_intercept(factor: float, origin: float) -> None:
    features, labels, points = problem(3)
    base = probabilities_of(features, labels, points, classes=np.arange(3), strength=1.0)
    features, points = (features + origin) * factor, (points + origin) * factor
    moved = probabilities_of(features, labels, points, classes=np.arange(3), strength=1.0 / factor**2)
    np.testing.assert_allclose(moved, base, atol=1e-7)


def test_features_without_spread_give_the_class_shares() -> None:
    labels = np.repeat([0, 1, 2], [10, 20, 30])
    probabilities = probabilities_of(np.ones((60, 2)), labels, np.ones((1, 2)), classes=np.arange(3), strength=1.0)
    np.testing.assert_allclose(probabilities, [[1 / 6, 1 / 3, 1 / 2]], atol=1e-8)


def squared_hinge_optimum(features: np.ndarray, sides: np.ndarray, *, strength: float) -> np.ndarray:
    """Weights and, last, the intercept that minimise |w|^2 / 2 + C sum max(0, 1 - side (x w + b))^2."""

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        margins = np.maximum(0.0, 1.0 - sides * (features @ parameters[:-1] + parameters[-1]))
        pull = -2.0 * strength * sides * margins
        value = 0.5 * parameters[:-1] @ parameters[:-1] + strength * margins @ margins
        return value, np.append(parameters[:-1] + pull @ features, pull.sum())

    minimum = minimize(
        objective,
        np.zeros(features.shape[1] + 1),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-7 * strength, "maxiter": 5000},
    )
    return minimum.x


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("strength", [0.001, 1.0, 50.0])
def test_linear_svm_is_the_optimum_with_a_free_intercept(n_classes: int, strength: float) -> None:
    features, labels, points = problem(n_classes)
    ones = np.column_stack([points, np.ones(len(points))])
    decisions = [
        ones @ squared_hinge_optimum(features, np.where(labels == label, 1.0, -1.0), strength=strength)
        for label in range(n_classes)
    ]
    predict = fit_linear_svm(features, labels, np.arange(n_classes), inverse_regularization=strength)
    agreement = np.mean(predict(points) == np.argmax(decisions, axis=0))
    assert agreement >= 0.9995


@pytest.mark.parametrize("fit", [fit_logistic, fit_linear_svm])
def test_a_class_absent_from_training_is_never_predicted(fit: Callable[..., Predict]) -> None:
    features, labels, points = problem(3)
    known = labels != 1
    predicted = fit(features[known], labels[known], np.array([0, 1, 2]), inverse_regularization=1.0)(points)
    predicted_labels = predicted.labels if isinstance(predicted, Predictions) else predicted
    assert set(predicted_labels.tolist()) == {0, 2}
    if isinstance(predicted, Predictions):
        assert predicted.probabilities is not None
        assert predicted.probabilities[:, 1].max() == 0.0
        np.testing.assert_allclose(predicted.probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("fit", [fit_logistic, fit_linear_svm])
def test_a_single_class_is_always_predicted(fit: Callable[..., Predict]) -> None:
    features, _, points = problem(3)
    predicted = fit(features, np.full(150, 8), np.array([3, 8, 9]), inverse_regularization=1.0)(points)
    predicted_labels = predicted.labels if isinstance(predicted, Predictions) else predicted
    assert predicted_labels.tolist() == [8] * len(points)
    if isinstance(predicted, Predictions):
        assert predicted.probabilities is not None
        assert predicted.probabilities[:5].tolist() == [[0.0, 1.0, 0.0]] * 5


@pytest.mark.parametrize(("classifier", "with_probabilities"), [("logistic", [True]), ("both", [True, False])])
def test_settings_name_the_fits(classifier: str, with_probabilities: list[bool]) -> None:
    features, labels, points = problem(2)
    settings = FilterSettings(target_size=9, train_size=5, slice_size=1, classifier=classifier)  # type: ignore[arg-type]
    predicted = [fit(features, labels, np.array([0, 1]))(points) for fit in reference_fits(settings)]
    assert [isinstance(prediction, Predictions) for prediction in predicted] == with_probabilities


def test_inverse_regularization_reaches_the_fit() -> None:
    features, labels, points = problem(2)
    weak = probabilities_of(features, labels, points, classes=np.arange(2), strength=1e-4)
    strong = probabilities_of(features, labels, points, classes=np.arange(2), strength=10.0)
    assert weak.max(axis=1).mean() < 0.6 < 0.9 < strong.max(axis=1).mean()
