"""What a classifier says about test rows, and how a neural one is asked; scores are computed in `reports`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from aflite_assets.models.classifiers import NeuralClassifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.sources.examples import Examples

INFERENCE_BATCH = 128


@dataclass(frozen=True)
class Predictions:
    """`predicted` int64, one class number per row; `probabilities` rows x classes float32 in label order, or None."""

    predicted: np.ndarray
    probabilities: np.ndarray | None


def on_device(batch: dict[str, torch.Tensor], device: torch.device) -> dict[str, torch.Tensor]:
    """The same arguments on the device."""
    return {name: values.to(device) for name, values in batch.items()}


def predict(classifier: NeuralClassifier, examples: Examples, *, device: DeviceSettings) -> Predictions:
    """Softmax of the logits in evaluation mode, for all rows in order."""
    target = device.resolve()
    model = classifier.model.to(target).eval()
    inputs = classifier.inputs(examples)
    probabilities = np.zeros((len(examples), classifier.n_classes), dtype=np.float32)
    with torch.inference_mode(), device.autocast():
        for rows in _batches(inputs.lengths):
            logits = model(**on_device(inputs.batch(rows), target)).logits
            probabilities[rows] = logits.float().softmax(dim=1).cpu().numpy()
    return Predictions(probabilities.argmax(axis=1).astype(np.int64), probabilities)


def _batches(lengths: np.ndarray) -> Sequence[np.ndarray]:
    order = np.argsort(lengths, kind="stable")
    return [order[start : start + INFERENCE_BATCH] for start in range(0, len(order), INFERENCE_BATCH)]
