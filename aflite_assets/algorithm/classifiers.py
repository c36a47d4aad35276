"""What a classifier is to the algorithm: a fit that returns a predict. The classifiers themselves are elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Predictions:
    """Predicted labels, and probabilities where the classifier has them.

    `labels`: one predicted class per row. `probabilities`: rows x classes in [0, 1], columns in the order of
    the `classes` given to the fit; 0 for a class the classifier never saw.
    """

    labels: np.ndarray
    probabilities: np.ndarray | None = None


Predict = Callable[[np.ndarray], np.ndarray | Predictions]
"""Features (rows x width float64) in; predicted classes, or `Predictions`, out."""

ClassifierFit = Callable[[np.ndarray, np.ndarray, np.ndarray], Predict]
"""`fit(features, labels, classes)`: features rows x width float64, labels int64, classes int64 ascending (every
class of the dataset, whether or not the training rows have it)."""
