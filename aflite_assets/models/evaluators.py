"""Evaluators: models that are trained on one train set and predict every test set. The package `analysis` computes the
accuracies of evaluators.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.errors import InvalidInputError, ModelError
from aflite_assets.models.classical_evaluators import evaluate_classical
from aflite_assets.models.classifiers import NeuralClassifier, new_classifier, saved_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.preflight import check_inputs
from aflite_assets.models.training.predictions import Evaluation, ModelPredictions, predict
from aflite_assets.specs.models.kinds import ClassicalModelSpec, NeuralModelSpec, OneStageSpec

if TYPE_CHECKING:
    from aflite_assets.models.training.fine_tuning import FineTuning
    from aflite_assets.models.training.train import TrainingResult

__all__ = ["Evaluation", "ModelPredictions", "evaluate", "evaluate_saved", "train_and_save"]


def evaluate(
    settings: OneStageSpec,
    train: Examples,
    tests: Mapping[str, Examples],
    *,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
    validation: Examples | None = None,
    row_weights: np.ndarray | None = None,
) -> Evaluation:
    """Train an evaluator, starting from the pretrained checkpoint or from scratch, and predict each test set once.

    `seed` determines new weights, the order of rows, dropout and augmentation. On the CPU, the same seed gives
    bit-identical results. `seed` has no effect on scikit-learn models, because their fits are deterministic. If the
    process is killed, the next call resumes the training from the files in the folder `scratch`. When the training
    ends, the folder contains only the loss and accuracy of every epoch (see `epochs.read_epochs`). `validation`: the
    rows for early stopping, if `settings.early_stopping` has a split. `row_weights`, float32 (rows,): a factor for the
    loss of each train row. If the train set lacks classes, predictions still cover all classes.

    Raises:
        ModelError: the model does not fit the data, cannot be loaded, or needs too much memory. The error is also
            raised if `validation` is missing or if training diverged.
        DataError: there are no train rows or no rows for early stopping, or texts or images cannot be read.
        InvalidInputError: `row_weights` must have one finite number of at least 0 per train row.
    """
    _check_weights(row_weights, len(train))
    for examples in (train, *tests.values(), *([] if validation is None else [validation])):
        check_inputs(settings, examples)
    if isinstance(settings, ClassicalModelSpec):
        return evaluate_classical(settings, train, tests, row_weights=row_weights)
    with isolated_random_state(seed):
        classifier, result = _trained(settings, train, seed, device, scratch, log, validation, row_weights)
        return _asked(classifier, tests, device, log, dynamics=result.dynamics, metrics=result.metrics)


def train_and_save(
    settings: NeuralModelSpec,
    train: Examples,
    folder: Path,
    *,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
    validation: Examples | None = None,
    row_weights: np.ndarray | None = None,
) -> "TrainingResult":
    """Train a neural model exactly as `evaluate` does, and save it in `folder` for `evaluate_saved`.

    Raises:
        ModelError, DataError, InvalidInputError: as in `evaluate`.
    """
    _check_weights(row_weights, len(train))
    for examples in (train, *([] if validation is None else [validation])):
        check_inputs(settings, examples)
    with isolated_random_state(seed):
        classifier, result = _trained(settings, train, seed, device, scratch, log, validation, row_weights)
        classifier.save(folder)
    return result


def evaluate_saved(
    settings: NeuralModelSpec,
    folder: Path,
    stages: "Sequence[FineTuning]",
    tests: Mapping[str, Examples],
    *,
    label_names: Sequence[str],
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
) -> Evaluation:
    """Load a model that `train_and_save` saved, train it on the rows of each stage in turn, and predict each test set
    once.

    Without stages, the predictions are the same as from `evaluate`. `metrics` has the metrics of the stages (see
    `fine_tune`) and prediction_seconds. The result has no `dynamics`. If the process is killed, the next call resumes
    the interrupted stage from the files in `scratch`.

    Raises:
        ModelError: the folder contains no saved model, or one of the reasons in the docstring of `evaluate` applies.
        DataError: texts or images cannot be read.
    """
    from aflite_assets.models.training.fine_tuning import fine_tune  # as below

    for examples in (*tests.values(), *(stage.rows for stage in stages)):
        check_inputs(settings, examples)
    classifier = _saved(settings, folder, label_names, seed)
    classifier, metrics = fine_tune(classifier, stages, seed=seed, device=device, scratch=scratch, log=log)
    with isolated_random_state(seed):
        return _asked(classifier, tests, device, log, dynamics=None, metrics=metrics)


def _check_weights(row_weights: np.ndarray | None, rows: int) -> None:
    if row_weights is None:
        return
    if row_weights.shape != (rows,):
        raise InvalidInputError(
            f"`row_weights` has the shape {row_weights.shape}, but ({rows},) is needed; give one weight per train row"
        )
    if not (np.isfinite(row_weights) & (row_weights >= 0)).all():
        raise InvalidInputError(
            f"`row_weights` has values from {row_weights.min()} to {row_weights.max()}, but each weight must be "
            "finite and at least 0; clip the weights first"
        )


def _saved(settings: NeuralModelSpec, folder: Path, label_names: Sequence[str], seed: int) -> NeuralClassifier:
    # Libraries draw first weights also where they load others.
    try:
        with isolated_random_state(seed):
            return saved_classifier(settings, folder, label_names)
    except ModelError as error:
        raise ModelError(
            f"the trained model in {folder} cannot be loaded ({error}); delete the folder {folder.parent} and "
            "materialise the asset `evaluator_models` again"
        ) from error


def _trained(
    settings: NeuralModelSpec,
    train: Examples,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
    validation: Examples | None,
    row_weights: np.ndarray | None,
) -> tuple[NeuralClassifier, "TrainingResult"]:
    from aflite_assets.models.training.train import train_classifier  # takes a second, and scikit-learn needs none

    scratch.mkdir(parents=True, exist_ok=True)
    classifier = new_classifier(settings, train, log)
    result = train_classifier(
        classifier,
        train,
        seed=seed,
        device=device,
        scratch=scratch,
        log=log,
        held_back=validation,
        row_weights=row_weights,
    )
    return classifier, result


def _asked(
    classifier: NeuralClassifier,
    tests: Mapping[str, Examples],
    device: DeviceSettings,
    log: Callable[[str], None],
    *,
    dynamics: pa.Table | None,
    metrics: Mapping[str, float],
) -> Evaluation:
    started = time.perf_counter()
    predictions = {name: predict(classifier, test, device=device, log=log) for name, test in tests.items()}
    return Evaluation(predictions, dynamics, {**metrics, "prediction_seconds": time.perf_counter() - started})
