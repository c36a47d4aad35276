"""Reference classifiers of AFLite in scikit-learn, fitted to the optimum in float64. The results of these classifiers
are correct by definition.

The objectives of logistic regression and of the linear SVM are the objectives of scikit-learn. The intercept is not
penalised. A shift of the features then changes only the intercept. Dividing all features by a number s has no effect if
C is multiplied by s^2. The features are therefore standardized before each fit. Without standardization, the solvers
can stall before they reach the optimum.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import ThreadpoolController

from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.algorithm.tally import ClassifierFit, Predict, Predictions

_TOLERANCE = 1e-10
_MOST_ITERATIONS = 10_000
# LinearSVC does penalise its intercept, divided by this number (over the root of C); at 100 the pull on it is
# 1e-4 of the pull of a single row. Larger values cost accuracy: liblinear's problem becomes ill-conditioned.
_INTERCEPT_SCALING = 100.0
# Made once: finding the loaded libraries takes longer than a small fit.
_THREADS = ThreadpoolController()


def reference_fits(settings: FilterSettings) -> tuple[ClassifierFit, ...]:
    """Return the fit functions for `settings.classifier`: one function, or two for "both"."""
    named = {
        "logistic": (fit_logistic,),
        "linear_svm": (fit_linear_svm,),
        "both": (fit_logistic, fit_linear_svm),
    }
    strength = settings.inverse_regularization
    return tuple(partial(fit, inverse_regularization=strength) for fit in named[settings.classifier])


def fit_logistic(
    features: np.ndarray, labels: np.ndarray, classes: np.ndarray, *, inverse_regularization: float
) -> Predict:
    """Fit multinomial logistic regression with an L2 penalty, or the binary form if the rows have two classes.

    The model is trained on the classes in `labels`; all other classes get probability 0. If the rows have a single
    class, the classifier always predicts that class.
    """
    seen = np.unique(labels)
    columns = np.searchsorted(classes, seen)
    if len(seen) == 1:
        return lambda rows: _certain(len(rows), classes, int(columns[0]))
    standardization = _Standardization.of(features)
    model = LogisticRegression(
        C=inverse_regularization * standardization.scale**2,
        solver="newton-cg",
        tol=_TOLERANCE,
        max_iter=_MOST_ITERATIONS,
    )
    with _one_blas_thread():
        model.fit(standardization.apply(features), labels)

    def predict(rows: np.ndarray) -> Predictions:
        probabilities = np.zeros((len(rows), len(classes)))
        with _one_blas_thread():
            probabilities[:, columns] = model.predict_proba(standardization.apply(rows))
        return Predictions(classes[probabilities.argmax(axis=1)], probabilities)

    return predict


def fit_linear_svm(
    features: np.ndarray, labels: np.ndarray, classes: np.ndarray, *, inverse_regularization: float
) -> Predict:
    """Fit a linear support vector machine with squared hinge loss and L2 penalty, one class against the rest. The
    classifier gives no probabilities.

    The model predicts only classes in `labels`. If the rows have a single class, the model always predicts that class.
    """
    seen = np.unique(labels)
    if len(seen) == 1:
        return lambda rows: np.full(len(rows), seen[0])
    standardization = _Standardization.of(features)
    strength = inverse_regularization * standardization.scale**2
    model = LinearSVC(
        C=strength,
        dual=False,
        tol=_TOLERANCE,
        intercept_scaling=_INTERCEPT_SCALING / np.sqrt(strength),
        max_iter=_MOST_ITERATIONS,
    ).fit(standardization.apply(features), labels)

    def predict(rows: np.ndarray) -> np.ndarray:
        with _one_blas_thread():
            return model.predict(standardization.apply(rows))

    return predict


def _one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread. The products are so small that a second thread would mostly wait."""
    return _THREADS.limit(limits=1, user_api="blas")


@dataclass(frozen=True)
class _Standardization:
    """The linear map from features x to (x - origin) / scale. There is one origin per column and a single scale for all
    columns.
    """

    origin: np.ndarray
    scale: float

    @classmethod
    def of(cls, features: np.ndarray) -> "_Standardization":
        """Return the map that standardizes the given rows. The origin is the mean of each column. The scale is the root
        mean square deviation from the means, but at least 1.

        Large features must be scaled down because their rounding errors would exceed the tolerance of the solvers.
        Small features are not scaled.
        """
        origin = features.mean(axis=0)
        return cls(origin, max(1.0, float(np.sqrt(np.mean((features - origin) ** 2)))))

    def apply(self, features: np.ndarray) -> np.ndarray:
        return (features - self.origin) / self.scale


def _certain(n_rows: int, classes: np.ndarray, column: int) -> Predictions:
    """Return the predictions of a classifier that always predicts the same class."""
    probabilities = np.zeros((n_rows, len(classes)))
    probabilities[:, column] = 1.0
    return Predictions(np.full(n_rows, classes[column]), probabilities)
