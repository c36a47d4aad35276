"""Other tools' scores of rows, for `benchmarks.rows`: training dynamics, cross-validated confidence, kNN-Shapley."""

from dataclasses import dataclass

import numpy as np
from cleanlab.rank import get_self_confidence_for_each_label
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

EPOCHS, EARLY, BATCH, RATE = 20, 5, 32, 0.1


@dataclass(frozen=True)
class Dynamics:
    """Per row, float64: mean and deviation over epochs of the label's probability, forgettings, EL2N, early error."""

    confidence: np.ndarray
    variability: np.ndarray
    forgettings: np.ndarray
    el2n: np.ndarray
    wrong_early: np.ndarray


def dynamics(features: np.ndarray, labels: np.ndarray, *, seed: int) -> Dynamics:
    """Train a softmax regression by stochastic descent and follow every row over the epochs."""
    rng, rows, classes = np.random.default_rng([seed, 7]), len(labels), int(labels.max()) + 1
    centred = np.column_stack([(features - features.mean(0)) / (features.std(0) + 1e-6), np.ones(rows)])
    target, weights = np.eye(classes)[labels], np.zeros((centred.shape[1], classes))
    history = []
    for _ in range(EPOCHS):
        for batch in np.array_split(rng.permutation(rows), max(1, rows // BATCH)):
            error = _softmax(centred[batch] @ weights) - target[batch]
            weights -= RATE * centred[batch].T @ error / len(batch)
        history.append(_softmax(centred @ weights))
    whole = np.stack(history)
    own, right = whole[:, np.arange(rows), labels], whole.argmax(2) == labels
    forgettings = (right[:-1] & ~right[1:]).sum(0) + np.where(right.any(0), 0, EPOCHS)
    el2n = np.linalg.norm(whole[EARLY - 1] - target, axis=1)
    return Dynamics(own.mean(0), own.std(0), forgettings.astype(float), el2n, (~right[EARLY - 1]).astype(float))


def _softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def cross_validated(features: np.ndarray, labels: np.ndarray, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Cleanlab's self-confidence from five folds of a linear model, and whether that model was right (0 or 1)."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    said = cross_val_predict(LogisticRegression(max_iter=500), features, labels, cv=folds, method="predict_proba")
    return get_self_confidence_for_each_label(labels, said), (said.argmax(1) == labels).astype(float)


def knn_shapley(features: np.ndarray, labels: np.ndarray, *, seed: int, neighbours: int = 5) -> np.ndarray:
    """Shapley values of rows for a nearest-neighbour classifier (Jia et al. 2019), over two halves in turn."""
    half = np.random.default_rng([seed, 6]).random(len(labels)) < 0.5
    values = np.zeros(len(labels))
    for valued in (half, ~half):
        values[valued] = _shapley(features[valued], labels[valued], features[~valued], labels[~valued], neighbours)
    return values


def _shapley(
    features: np.ndarray, labels: np.ndarray, judges: np.ndarray, judged: np.ndarray, neighbours: int
) -> np.ndarray:
    n = len(labels)
    distances = (features**2).sum(1)[None] - 2 * judges @ features.T
    order = distances.argsort(axis=1)
    right = (labels[order] == judged[:, None]).astype(float)
    places = np.arange(1, n)
    steps = (right[:, :-1] - right[:, 1:]) / neighbours * np.minimum(neighbours, places) / places
    last = right[:, -1:] / n
    in_order = np.concatenate([last + np.cumsum(steps[:, ::-1], axis=1)[:, ::-1], last], axis=1)
    values = np.zeros(n)
    np.add.at(values, order.ravel(), in_order.ravel())
    return values / len(judges)
