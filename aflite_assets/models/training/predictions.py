"""Predictions of a classifier for test rows, computed in batches. The package `analysis` computes scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.classifiers import ModelInputs, NeuralClassifier
from aflite_assets.models.devices import DeviceSettings, torch_threads_for
from aflite_assets.models.training.batches import reading_threads
from aflite_assets.models.training.out_of_memory import AdaptiveBatchSize

INFERENCE_BATCH = 128
"""Number of rows that are predicted at once. The number is reduced if memory is too small."""


@dataclass(frozen=True)
class ModelPredictions:
    """`predicted`: one class number per row, int64. `probabilities`: float32, rows x classes in label order, or None if
    the model gives no probabilities.
    """

    predicted: np.ndarray
    probabilities: np.ndarray | None


@dataclass(frozen=True)
class Evaluation:
    """The predictions, training dynamics and metrics of one evaluator.

    `predictions` maps the name of each test set to its predictions, in the order of the rows. `dynamics` (neural models
    only) has one row per train row and epoch: row_id int64, epoch int64 from 0, label_probability float32, correct
    bool. `metrics` has train_accuracy, seconds and rows. For neural models, `metrics` also has train_loss, steps,
    prediction_seconds and the metrics of early stopping (see `train_classifier`). For other models, `metrics` also has
    the number `converged` (0 or 1).
    """

    predictions: Mapping[str, ModelPredictions]
    dynamics: pa.Table | None
    metrics: Mapping[str, float]


def no_log(_: str) -> None:
    """Discard a log line."""


def on_device(batch: dict[str, torch.Tensor], device: torch.device) -> dict[str, torch.Tensor]:
    """Copy the arguments to the device. If the arguments are in pinned memory, the copy runs in the background."""
    return {name: values.to(device, non_blocking=True) for name, values in batch.items()}


def predict(
    classifier: NeuralClassifier, examples: Examples, *, device: DeviceSettings, log: Callable[[str], None] = no_log
) -> ModelPredictions:
    """Predict all rows in order, in evaluation mode. The probabilities are the softmax of the logits.

    If memory runs out, fewer rows are predicted at once, and a line is written to `log`.

    Raises:
        ModelError: memory is too small for a single row, or a logit is not a finite number.
        DataError: an image cannot be decoded.
    """
    return predict_inputs(classifier, classifier.inputs(examples), device=device, log=log)


def predict_inputs(
    classifier: NeuralClassifier, inputs: ModelInputs, *, device: DeviceSettings, log: Callable[[str], None] = no_log
) -> ModelPredictions:
    """Predict rows that are already in the model's input form, as `predict` does."""
    probabilities, finite = _answers(classifier, inputs, device, log)
    wrong = int((~finite).sum())
    if wrong:
        remedy = (
            "" if device.precision == "float32" else f" or set `precision` to float32 instead of {device.precision}"
        )
        raise ModelError(
            f"the model's outputs are not finite numbers for {wrong} of {len(inputs)} rows, probably because the "
            f"training diverged; lower `learning_rate` (now {classifier.settings.learning_rate}){remedy}"
        )
    return ModelPredictions(probabilities.argmax(axis=1).astype(np.int64), probabilities)


def accuracy(
    classifier: NeuralClassifier,
    inputs: ModelInputs,
    labels: np.ndarray,
    *,
    device: DeviceSettings,
    log: Callable[[str], None] = no_log,
) -> float:
    """Return the share of correctly predicted rows, in [0, 1]. `labels` is int64 (rows,). A row without finite logits
    counts as wrong.
    """
    probabilities, finite = _answers(classifier, inputs, device, log)
    return float(np.mean((probabilities.argmax(axis=1) == labels) & finite))


def _answers(
    classifier: NeuralClassifier, inputs: ModelInputs, device: DeviceSettings, log: Callable[[str], None]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities (float32, rows x classes), and whether all logits of a row are finite (bool, rows)."""
    target = device.resolve()
    classifier.model.to(target).eval()
    probabilities, finite = np.zeros((len(inputs), classifier.n_classes), np.float32), np.ones(len(inputs), bool)
    threads = reading_threads(images=classifier.reads_images, device=target)

    def answer(batch: dict[str, torch.Tensor]) -> tuple[np.ndarray, np.ndarray]:
        # Not inference_mode: tensors that a model keeps from it cannot be trained with afterwards.
        with torch.no_grad(), device.autocast():
            logits = classifier.model(**on_device(batch, target)).logits.float()
            return logits.softmax(dim=1).cpu().numpy(), logits.isfinite().all(dim=1).cpu().numpy()

    order = np.argsort(inputs.lengths, kind="stable")
    with torch_threads_for(classifier.model, device):
        for rows, answered in AdaptiveBatchSize(log, INFERENCE_BATCH, threads).ask(order, inputs.batch, answer):
            probabilities[rows], finite[rows] = answered
    return probabilities, finite
