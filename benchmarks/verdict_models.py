"""Models of one draw of `verdict_rates`: an RBF machine, nearest neighbours and logistic regression.

Models of a draw share the distances between its rows. How their predictions are judged does not belong here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC

from benchmarks.verdict_kinds.records import Rows

NEIGHBORS = 15
LISTED = 400
"""Nearest train rows that are listed, once for all models; the nearest rows of most train sets are among them."""


class Distances:
    """Squared distances of rows to a draw's train rows, computed once for all models of the draw."""

    def __init__(self, train: Rows) -> None:
        self.train = train
        self._of: dict[int, np.ndarray] = {}
        self._nearest: dict[int, np.ndarray] = {}

    def to(self, rows: Rows) -> np.ndarray:
        """Return squared distances, rows x train rows, float64."""
        if id(rows) not in self._of:
            self._of[id(rows)] = euclidean_distances(rows.features, self.train.features, squared=True)
        return self._of[id(rows)]

    def nearest(self, rows: Rows, chosen: np.ndarray) -> np.ndarray:
        """Return the `NEIGHBORS` nearest of the chosen train rows for each row, in no particular order."""
        if id(rows) not in self._nearest:
            distances = self.to(rows)
            first = np.argpartition(distances, LISTED - 1, axis=1)[:, :LISTED]
            order = np.argsort(np.take_along_axis(distances, first, axis=1), axis=1)
            self._nearest[id(rows)] = np.take_along_axis(first, order, axis=1)
        listed = self._nearest[id(rows)]
        usable = chosen[listed]
        place = usable.cumsum(axis=1)
        near = np.empty((len(rows), NEIGHBORS), dtype=np.int64)
        full = place[:, -1] >= NEIGHBORS
        near[full] = listed[full][(usable & (place <= NEIGHBORS))[full]].reshape(-1, NEIGHBORS)
        if not full.all():  # too few chosen rows in the list
            among = np.flatnonzero(chosen)
            distances = self.to(rows)[np.ix_(~full, chosen)]
            near[~full] = among[np.argpartition(distances, NEIGHBORS - 1, axis=1)[:, :NEIGHBORS]]
        return near


class Machine:
    """scikit-learn's `SVC()` (RBF kernel, `gamma="scale"`), on kernel values computed from the shared distances."""

    name = "SVC"

    def __init__(self, distances: Distances, chosen: np.ndarray) -> None:
        train = distances.train
        rows = np.flatnonzero(chosen)
        features = train.features[rows]
        self._distances, self._gamma = distances, 1.0 / (features.shape[1] * features.var())
        kernel = self._kernel(distances.to(train)[np.ix_(rows, rows)])
        self._svc = SVC(kernel="precomputed").fit(kernel, train.labels[rows])
        self.classes_, self._train_rows, self._support = self._svc.classes_, len(rows), rows[self._svc.support_]

    def predict(self, rows: Rows) -> np.ndarray:
        """Return the predicted labels."""
        if len(self.classes_) == 2:
            return np.asarray(self.classes_[(self.scores(rows) > 0).astype(int)])
        return np.asarray(self._svc.predict(self._on(rows)))

    def scores(self, rows: Rows) -> np.ndarray:
        """Return the decision function."""
        if len(self.classes_) == 2:
            return np.asarray(self._of_support(rows) @ self._svc.dual_coef_[0] + self._svc.intercept_[0])
        return np.asarray(self._svc.decision_function(self._on(rows)))

    def _on(self, rows: Rows) -> np.ndarray:
        """Return kernel values, rows x train rows of the model; columns that no support vector needs are 0."""
        values = np.zeros((len(rows), self._train_rows))
        values[:, self._svc.support_] = self._of_support(rows)
        return values

    def _of_support(self, rows: Rows) -> np.ndarray:
        return self._kernel(self._distances.to(rows)[:, self._support])

    def _kernel(self, distances: np.ndarray) -> np.ndarray:
        """Return kernel values in place of squared distances."""
        distances *= -self._gamma
        return np.asarray(np.exp(distances, out=distances))


class Neighbors:
    """scikit-learn's `KNeighborsClassifier(15)`, by the shared distances."""

    name = "KNeighborsClassifier"

    def __init__(self, distances: Distances, chosen: np.ndarray) -> None:
        self._distances, self._chosen = distances, chosen
        self.classes_, self._codes = np.unique(distances.train.labels, return_inverse=True)

    def predict(self, rows: Rows) -> np.ndarray:
        """Return the most frequent label of the nearest train rows."""
        return np.asarray(self.classes_[self.scores(rows).argmax(axis=1)])

    def scores(self, rows: Rows) -> np.ndarray:
        """Return the share of each class among the nearest train rows."""
        votes = self._codes[self._distances.nearest(rows, self._chosen)]
        return np.stack([(votes == code).mean(axis=1) for code in range(len(self.classes_))], axis=1)


class Logistic:
    """A model of the filter's make."""

    name = "LogisticRegression"

    def __init__(self, distances: Distances, chosen: np.ndarray) -> None:
        train = distances.train
        self._fitted = LogisticRegression(max_iter=300).fit(train.features[chosen], train.labels[chosen])
        self.classes_ = self._fitted.classes_

    def predict(self, rows: Rows) -> np.ndarray:
        """Return the predicted labels."""
        return np.asarray(self._fitted.predict(rows.features))

    def scores(self, rows: Rows) -> np.ndarray:
        """Return the probabilities of the classes."""
        return np.asarray(self._fitted.predict_proba(rows.features))


class Model:
    """A fitted model that predicts each set of rows once. The sets of a draw must exist as long as the model."""

    def __init__(self, make: Callable[[Distances, np.ndarray], Any], distances: Distances, chosen: np.ndarray) -> None:
        self.fitted = make(distances, chosen)
        self.name = self.fitted.name
        self._predicted: dict[int, np.ndarray] = {}

    def predict(self, rows: Rows) -> np.ndarray:
        """Return the predicted labels of rows; they are computed once per set of rows."""
        if id(rows) not in self._predicted:
            self._predicted[id(rows)] = self.fitted.predict(rows)
        return self._predicted[id(rows)]


MAKES: tuple[Callable[[Distances, np.ndarray], Any], ...] = (Machine, Neighbors)
