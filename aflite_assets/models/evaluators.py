"""Evaluators: models trained on one train set and asked about every test set. What the answers mean: `reports`."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from aflite_assets.errors import ModelError
from aflite_assets.models.checks import check_inputs
from aflite_assets.models.classical import evaluate_classical
from aflite_assets.models.classifiers import new_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.isolation import isolated_random_state
from aflite_assets.models.predictions import Predictions, predict
from aflite_assets.models.training import train_classifier
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.model_specs import ClassicalModelSpec, EvaluatorSpec

__all__ = ["Evaluation", "Predictions", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """One evaluator's answers.

    `predictions` by test set name, rows in the order given. `dynamics` (neural models only): row_id int64,
    epoch int64 from 0, label_probability float32, correct bool; one row per train row and epoch.
    `metrics`: train_accuracy, seconds, rows; neural models add train_loss, steps and prediction_seconds (and what
    early stopping adds, see `train_classifier`), the others converged (0 or 1).
    """

    predictions: Mapping[str, Predictions]
    dynamics: pa.Table | None
    metrics: Mapping[str, float]


def evaluate(
    settings: EvaluatorSpec,
    train: Examples,
    tests: Mapping[str, Examples],
    *,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
    validation: Examples | None = None,
) -> Evaluation:
    """Train from the pretrained checkpoint (or from scratch) and predict each test set once.

    `seed` decides new weights, order, dropout and augmentation; the same seed gives the same bits on the CPU.
    It does not enter scikit-learn models, whose fits are not random. `scratch` is a folder for files that
    are gone when this returns; a training that was killed goes on from them. `validation`: the rows of the split
    that `settings.early_stopping` names, if it names one. A train set may lack classes; the answers are about all.

    Raises:
        ModelError: the model does not fit the data, cannot be had, diverged or needs more memory than there is, or
            `validation` is needed and missing.
        DataError: there are no train rows or none to stop by, or texts or images cannot be read.
    """
    for examples in (train, *tests.values(), *([] if validation is None else [validation])):
        check_inputs(settings, examples)
    if isinstance(settings, ClassicalModelSpec):
        fitted = evaluate_classical(settings, train, tests)
        return Evaluation(fitted.predictions, None, fitted.metrics)
    stopping = settings.early_stopping
    if stopping is not None and stopping.split is not None and validation is None:
        raise ModelError(
            f"early_stopping.split names {stopping.split!r}, but validation, the rows of that split, is None; "
            "give them, or leave split out to hold back a share of the train rows"
        )
    scratch.mkdir(parents=True, exist_ok=True)
    with isolated_random_state(seed):
        classifier = new_classifier(settings, train, log)
        result = train_classifier(
            classifier, train, seed=seed, device=device, scratch=scratch, log=log, held_back=validation
        )
        started = time.perf_counter()
        predictions = {name: predict(classifier, test, device=device) for name, test in tests.items()}
    seconds = time.perf_counter() - started
    return Evaluation(predictions, result.dynamics, {**result.metrics, "prediction_seconds": seconds})
