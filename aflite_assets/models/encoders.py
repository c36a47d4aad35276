"""Encoders: classifiers that are trained on the warm-up rows and then compute the representation of all other rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
import torch

from aflite_assets.data.examples import Examples
from aflite_assets.models.classifiers import ModelInputs, NeuralClassifier, new_classifier, saved_classifier
from aflite_assets.models.devices import DeviceSettings, torch_threads_for
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.preflight import check_inputs
from aflite_assets.models.representations import final_layer, represent
from aflite_assets.models.training.batches import reading_threads
from aflite_assets.models.training.out_of_memory import AdaptiveBatchSize
from aflite_assets.models.training.predictions import no_log, on_device, predict
from aflite_assets.models.training.prefetch import prefetch
from aflite_assets.specs.models.kinds import NeuralModelSpec


@dataclass(frozen=True)
class EncodedBatch:
    """`features`: rows x width float32; `probabilities`: rows x classes float32, from the encoder's own output layer.
    Features that no encoder computed have no probabilities, because there is no output layer.
    """

    features: np.ndarray
    probabilities: np.ndarray | None


class Encoder(Protocol):
    """A model that turns examples into feature vectors of a known width."""

    @property
    def width(self) -> int:
        """Number of features per row."""
        ...

    def encode(self, examples: Examples) -> EncodedBatch:
        """Encode all rows in their given order, as one batch, in evaluation mode."""
        ...

    def encode_each(self, batches: Iterable[Examples]) -> Iterator[EncodedBatch]:
        """Yield the result of `encode` for each batch, in order. The next batch may be read while the current batch is
        encoded.
        """
        ...


class NeuralEncoder:
    """An encoder that returns the input of a classifier's final linear layer. If memory runs out, the encoder logs a
    line.
    """

    def __init__(
        self, classifier: NeuralClassifier, device: DeviceSettings, log: Callable[[str], None] = no_log
    ) -> None:
        self._classifier = classifier
        self._device = device
        self._model = classifier.model.to(device.resolve()).eval()
        self._at_once = AdaptiveBatchSize(log)

    @property
    def width(self) -> int:
        """Number of inputs of the final linear layer."""
        return int(final_layer(self._model, self._classifier.n_classes).in_features)

    def encode(self, examples: Examples) -> EncodedBatch:
        """Return the features of the rows from a single forward pass, or from several passes if memory is too small.

        Raises:
            ModelError: the model has no representation, or memory is too small for a single row.
            DataError: an image cannot be decoded.
        """
        return self._encoded(self._classifier.inputs(examples))

    def encode_each(self, batches: Iterable[Examples]) -> Iterator[EncodedBatch]:
        """Yield the result of `encode` for each batch, in order. Images of the next batches are decoded while a GPU
        computes.
        """
        # Texts are not: a tokenizer must not be used by two threads at once.
        threads = reading_threads(images=self._classifier.reads_images, device=self._device.resolve())
        return map(self._encoded, prefetch(self._classifier.inputs, batches, threads=threads))

    def _encoded(self, inputs: ModelInputs) -> EncodedBatch:
        if not len(inputs):
            return EncodedBatch(
                np.zeros((0, self.width), np.float32), np.zeros((0, self._classifier.n_classes), np.float32)
            )
        with torch_threads_for(self._classifier.model, self._device):
            answers = [answer for _, answer in self._at_once.ask(np.arange(len(inputs)), inputs.batch, self._answer)]
        features, probabilities = zip(*answers, strict=True)
        return EncodedBatch(np.concatenate(features), np.concatenate(probabilities))

    def _answer(self, batch: dict[str, torch.Tensor]) -> tuple[np.ndarray, np.ndarray]:
        with torch.inference_mode(), self._device.autocast():
            rows = on_device(batch, self._device.resolve())
            features, logits = represent(self._model, rows, n_classes=self._classifier.n_classes)
        return features.cpu().numpy(), logits.softmax(dim=1).cpu().numpy()


def train_encoder(
    settings: NeuralModelSpec,
    train: Examples,
    folder: Path,
    *,
    seed: int,
    device: DeviceSettings,
    log: Callable[[str], None],
    scratch: Path | None = None,
) -> Mapping[str, float]:
    """Train an encoder on the warm-up rows. Save its weights (safetensors), configuration and tokenizer in `folder`.

    The function returns the metrics train_loss, train_accuracy, seconds, rows and steps. If the process is killed, the
    next call resumes the training from the files in `scratch`. Without `scratch`, the training starts from the
    beginning.

    Raises:
        ModelError: the model cannot be used or has no representation, or the training diverged.
        DataError: there are no rows, an image cannot be decoded, or a small transformer's texts have no words.
    """
    with isolated_random_state(seed), TemporaryDirectory() as passing:
        place = scratch or Path(passing)
        classifier, metrics = _trained(settings, train, seed=seed, device=device, scratch=place, log=log)
    folder.mkdir(parents=True, exist_ok=True)
    classifier.save(folder)
    return metrics


def score_encoder(
    settings: NeuralModelSpec,
    train: Examples,
    asked: Examples,
    *,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
) -> tuple[np.ndarray, Mapping[str, float]]:
    """Train an encoder as `train_encoder` does, then predict other rows with the encoder's output layer. The encoder is
    not saved.

    The function returns the class number of each predicted row (int64), and the metrics of `train_encoder`. If the
    process is killed, the next call resumes the training from the files in `scratch`.

    Raises:
        ModelError: the model cannot be used or has no representation, or the training diverged.
        DataError: there are no rows, an image cannot be decoded, or a small transformer's texts have no words.
    """
    check_inputs(settings, asked)
    with isolated_random_state(seed):
        classifier, metrics = _trained(settings, train, seed=seed, device=device, scratch=scratch, log=log)
        return predict(classifier, asked, device=device, log=log).predicted, metrics


def _trained(
    settings: NeuralModelSpec,
    train: Examples,
    *,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
) -> tuple[NeuralClassifier, Mapping[str, float]]:
    """Train an encoder. Call this function within `isolated_random_state`."""
    from aflite_assets.models.training.train import train_classifier  # takes a second, and given features need none

    check_inputs(settings, train)
    classifier = new_classifier(settings, train, log)
    # An architecture without a representation is found out before the training, not after.
    NeuralEncoder(classifier, device).encode(train.select(train.row_ids[:1]))
    result = train_classifier(classifier, train, seed=seed, device=device, scratch=scratch, log=log)
    return classifier, result.metrics


def load_encoder(
    settings: NeuralModelSpec,
    folder: Path,
    label_names: Sequence[str],
    *,
    device: DeviceSettings,
    log: Callable[[str], None] = no_log,
) -> Encoder:
    """Return the encoder that `train_encoder` saved.

    If memory runs out while rows are encoded, the encoder writes a line to `log` and continues with smaller batches.

    Raises:
        ModelError: the folder contains no encoder for the given labels.
    """
    # Loading draws weights before they are overwritten.
    with isolated_random_state(0):
        return NeuralEncoder(saved_classifier(settings, folder, label_names), device, log)
