"""Model families of the evaluators that are fitted with scikit-learn."""

from typing import Any

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.models.family import ClassicalFamily, MakeMatrix
from aflite_assets.specs.models.settings import LinearModelSpec, MaxPpmiSpec, RbfSvmSpec

MOST_ITERATIONS = 5_000
"""Maximum number of solver iterations for logistic regression. Raw pixels need some hundreds."""


class Linear(ClassicalFamily[LinearModelSpec]):
    """Multinomial logistic regression."""

    settings = LinearModelSpec

    def estimator(self, settings: LinearModelSpec) -> Any:
        """Return a logistic regression with the inverse regularisation of the settings."""
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=settings.inverse_regularization, max_iter=MOST_ITERATIONS)


class RbfSvm(ClassicalFamily[RbfSvmSpec]):
    """A support vector machine with a radial basis function kernel, without predicted probabilities."""

    settings = RbfSvmSpec
    gives_probabilities = False
    predictions_grow = True

    def estimator(self, settings: RbfSvmSpec) -> Any:
        """Return a support vector machine with a radial basis function kernel."""
        from sklearn.svm import SVC

        return SVC(C=settings.inverse_regularization, kernel="rbf", gamma=settings.gamma)


class MaxPpmi(ClassicalFamily[MaxPpmiSpec]):
    """Logistic regression on one feature per class: the largest positive pointwise mutual information between the class
    and a word of the row.
    """

    settings = MaxPpmiSpec
    modality = "text"

    def estimator(self, settings: MaxPpmiSpec) -> Any:
        """Return a logistic regression with the inverse regularisation of the settings."""
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=settings.inverse_regularization, max_iter=MOST_ITERATIONS)

    def matrix_maker(self, settings: MaxPpmiSpec, train: Examples, *, row_weights: np.ndarray | None) -> MakeMatrix:
        """Return a function that computes, for each row, the largest mutual information per class. Word counts in the
        train rows are multiplied by the row weights.
        """
        from aflite_assets.models.classical.max_ppmi import fit_word_information

        return fit_word_information(
            train, inputs=settings.inputs, smoothing=settings.smoothing, row_weights=row_weights
        )
