"""AFLite's classifiers in plain scikit-learn lines, fitted to the optimum in float64: the definition of right.

Both objectives are those of scikit-learn with an intercept that is not penalised. Moving the features' origin
then changes only the intercept, and dividing all features by one number s is undone by multiplying C by s^2. The
fits use that freedom: at a common origin and scale the solvers reach the optimum where they would stall otherwise.
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
    """Return the fits that `settings.classifier` names; two for "both"."""
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
    """Multinomial logistic regression with an L2 penalty; the binary form where the rows have two classes.

    Trains on the classes that `labels` has; the others get probability 0. Rows of a single class give a
    classifier that always predicts it.
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
    """Linear support vector machine: squared hinge, one class against the rest, L2 penalty; no probabilities.

    Predicts among the classes that `labels` has; rows of a single class give a classifier that always
    predicts it.
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
    """Limit BLAS to one thread: products are small, and a second thread mostly waits."""
    return _THREADS.limit(limits=1, user_api="blas")


@dataclass(frozen=True)
class _Standardization:
    """How features x become (x - origin) / scale: an origin per column, one scale for all columns."""

    origin: np.ndarray
    scale: float

    @classmethod
    def of(cls, features: np.ndarray) -> "_Standardization":
        """Return the columns' means and the root mean square of what is left, but a scale of at least 1.

        Large features put rounding errors over the solvers' tolerance; small ones do no harm.
        """
        origin = features.mean(axis=0)
        return cls(origin, max(1.0, float(np.sqrt(np.mean((features - origin) ** 2)))))

    def apply(self, features: np.ndarray) -> np.ndarray:
        return (features - self.origin) / self.scale


def _certain(n_rows: int, classes: np.ndarray, column: int) -> Predictions:
    """Predictions of a classifier that knows one class."""
    probabilities = np.zeros((n_rows, len(classes)))
    probabilities[:, column] = 1.0
    return Predictions(np.full(n_rows, classes[column]), probabilities)
