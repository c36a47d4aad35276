"""What a classifier says about test rows, and how a neural one is asked; scores are computed in `reports`."""

from dataclasses import dataclass

import numpy as np
import torch

from aflite_assets.errors import ModelError
from aflite_assets.models.classifiers import ModelInputs, NeuralClassifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.out_of_memory import is_out_of_memory, release_memory
from aflite_assets.sources.examples import Examples

INFERENCE_BATCH = 128
"""Rows asked about at once, and fewer where memory does not suffice."""


@dataclass(frozen=True)
class Predictions:
    """`predicted` int64, one class number per row; `probabilities` rows x classes float32 in label order, or None."""

    predicted: np.ndarray
    probabilities: np.ndarray | None


def on_device(batch: dict[str, torch.Tensor], device: torch.device) -> dict[str, torch.Tensor]:
    """The same arguments on the device; from pinned memory the copy goes on while the program does."""
    return {name: values.to(device, non_blocking=True) for name, values in batch.items()}


def predict(classifier: NeuralClassifier, examples: Examples, *, device: DeviceSettings) -> Predictions:
    """Softmax of the logits in evaluation mode, for all rows in order.

    Raises:
        ModelError: memory does not suffice for a single row.
        DataError: an image cannot be decoded.
    """
    return predict_inputs(classifier, classifier.inputs(examples), device=device)


def predict_inputs(classifier: NeuralClassifier, inputs: ModelInputs, *, device: DeviceSettings) -> Predictions:
    """`predict` for rows that are in the model's form already."""
    classifier.model.to(device.resolve()).eval()
    probabilities = np.zeros((len(inputs), classifier.n_classes), dtype=np.float32)
    order = np.argsort(inputs.lengths, kind="stable")
    start, size = 0, INFERENCE_BATCH
    while start < len(order):
        rows = order[start : start + size]
        found = _probabilities(classifier, inputs, rows, device)
        if isinstance(found, str):
            size = _fewer_rows(len(rows), found)
            continue
        probabilities[rows] = found
        start += len(rows)
    return Predictions(probabilities.argmax(axis=1).astype(np.int64), probabilities)


def _probabilities(
    classifier: NeuralClassifier, inputs: ModelInputs, rows: np.ndarray, device: DeviceSettings
) -> np.ndarray | str:
    """rows x classes float32, or what was said when memory ran out."""
    batch = inputs.batch(rows)
    try:
        # Not inference_mode: tensors that a model keeps from it cannot be trained with afterwards.
        with torch.no_grad(), device.autocast():
            logits = classifier.model(**on_device(batch, device.resolve())).logits
            return logits.float().softmax(dim=1).cpu().numpy()
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return str(error)


def _fewer_rows(rows: int, problem: str) -> int:
    release_memory()
    if rows == 1:
        raise ModelError(
            f"memory ran out when the model was asked about a single row ({problem}); "
            "lower max_length or image_size, choose a smaller model or free the device's memory"
        )
    return rows // 2
