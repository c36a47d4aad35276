"""Fitting of evaluators that have scikit-learn's interface, and prediction with them. The module `families` lists the
kinds of evaluators.
"""

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.models.classical.inputs import fit_inputs
from aflite_assets.models.family import Matrix
from aflite_assets.models.family_registry import classical_family
from aflite_assets.models.training.predictions import Evaluation, ModelPredictions
from aflite_assets.processors import one_blas_thread
from aflite_assets.specs.models.kinds import ClassicalModelSpec


def evaluate_classical(
    settings: ClassicalModelSpec,
    train: Examples,
    tests: Mapping[str, Examples],
    *,
    row_weights: np.ndarray | None = None,
) -> Evaluation:
    """Fit the evaluator on `train` and predict each test set. The result is deterministic.

    With `row_weights` (float32, one per train row), the loss of each row is multiplied by the row's weight. Max-PPMI
    also multiplies word counts by the row weights. Other inputs (TF-IDF weights, scales) ignore the row weights.

    If the train rows have a single class, that class is always predicted. Classes without train rows get probability
    zero. Support vector machines predict no probabilities.

    Raises:
        DataError: there are no train rows, or texts or images cannot be read.
    """
    if not len(train):
        raise DataError(
            "there are no rows to train on, because the train set of this evaluator is empty; choose another train set"
        )
    started = time.perf_counter()
    family = classical_family(settings)
    make_matrix = family.matrix_maker(settings, train, row_weights=row_weights) or fit_inputs(
        train,
        list(tests.values()),
        inputs=getattr(settings, "inputs", None),
        features=getattr(settings, "features", None),
    )
    matrix = make_matrix(train)
    one_class = len(np.unique(train.labels)) == 1
    model = DummyClassifier(strategy="most_frequent") if one_class else family.estimator(settings)
    converged = _fit(model, matrix, train.labels, row_weights)

    def predicted(test: Examples) -> ModelPredictions:
        rows = make_matrix(test) if len(test) else matrix[:0]
        return _predict(model, rows, n_classes=len(train.label_names), with_probabilities=family.gives_probabilities)

    predictions = {name: predicted(test) for name, test in tests.items()}
    metrics = {
        "train_accuracy": float(np.mean(model.predict(matrix) == train.labels)),
        "converged": float(converged),
        "seconds": time.perf_counter() - started,
        "rows": float(len(train)),
    }
    return Evaluation(predictions, None, metrics)


def _fit(model: Any, matrix: Matrix, labels: np.ndarray, row_weights: np.ndarray | None) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        with one_blas_thread():  # on a busy machine, a second thread waits for very long
            model.fit(matrix, labels, sample_weight=row_weights)
    stopped_early = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    for other in caught:
        if other not in stopped_early:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return not stopped_early


def _predict(model: Any, matrix: Matrix, *, n_classes: int, with_probabilities: bool) -> ModelPredictions:
    rows = matrix.shape[0]
    probabilities = np.zeros((rows, n_classes), dtype=np.float32) if with_probabilities else None
    if not rows:  # scikit-learn refuses tables without rows
        return ModelPredictions(np.zeros(0, dtype=np.int64), probabilities)
    if probabilities is not None:
        probabilities[:, model.classes_] = model.predict_proba(matrix)
    return ModelPredictions(model.predict(matrix).astype(np.int64), probabilities)
