"""Encoders: classifiers trained on the warm-up rows, then used for the representation they have learned."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
import torch

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.classifiers import ModelInputs, NeuralClassifier, new_classifier, saved_classifier
from aflite_assets.models.devices import DeviceSettings, torch_threads_for
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.preflight import check_inputs
from aflite_assets.models.representations import final_layer, represent
from aflite_assets.models.training.batches import reading_threads
from aflite_assets.models.training.out_of_memory import AdaptiveBatchSize
from aflite_assets.models.training.predictions import no_log, on_device, predict
from aflite_assets.models.training.prefetch import prefetch
from aflite_assets.specs.models.kinds import EncoderSpec
from aflite_assets.specs.models.settings import IdentityEncoderSpec, SurfaceEncoderSpec, UntrainedSpec


@dataclass(frozen=True)
class EncodedBatch:
    """`features`: rows x width float32; `probabilities`: rows x classes float32, from the encoder's own output layer.

    An encoder without an output layer (identity) has no probabilities.
    """

    features: np.ndarray
    probabilities: np.ndarray | None


@dataclass(frozen=True)
class _NeuralBatch:
    features: np.ndarray
    probabilities: np.ndarray


@dataclass(frozen=True)
class EncoderScore:
    """`predicted`: int64, a class number per predicted row; `metrics`: those of `train_encoder`."""

    predicted: np.ndarray
    metrics: Mapping[str, float]


class Encoder(Protocol):
    """A model that turns examples into feature vectors of a known width."""

    @property
    def width(self) -> int:
        """Number of features per row."""
        ...

    def encode(self, examples: Examples) -> EncodedBatch:
        """Encode all rows in order, as one batch, in evaluation mode."""
        ...

    def encode_each(self, batches: Iterable[Examples]) -> Iterator[EncodedBatch]:
        """Yield `encode` of each batch, in order; the next batch may be read while one is computed."""
        ...


@dataclass(frozen=True)
class IdentityEncoder:
    """The dataset's own features, unchanged."""

    width: int

    def encode(self, examples: Examples) -> EncodedBatch:
        """Return the feature columns.

        Raises:
            ModelError: rows have another width than `width`.
        """
        features = examples.features
        if features.shape[1] != self.width:
            raise ModelError(
                f"features have {features.shape[1]} columns, but {self.width} were expected; materialise "
                "raw_dataset again"
            )
        return EncodedBatch(features, None)

    def encode_each(self, batches: Iterable[Examples]) -> Iterator[EncodedBatch]:
        """Yield the feature columns of each batch."""
        return map(self.encode, batches)


class NeuralEncoder:
    """The input of a classifier's final linear layer; `log` gets a line when memory runs out."""

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
        """Return the features from one forward pass over the rows, or from several if memory does not suffice.

        Raises:
            ModelError: the model has no representation, or memory does not suffice for a single row.
            DataError: an image cannot be decoded.
        """
        return self._encoded(self._classifier.inputs(examples))

    def encode_each(self, batches: Iterable[Examples]) -> Iterator[EncodedBatch]:
        """Yield `encode` of each batch, in order; while a GPU computes, images of the next batches are decoded."""
        # Texts are not: a tokenizer must not be used by two threads at once.
        threads = reading_threads(images=self._classifier.reads_images, device=self._device.resolve())
        return map(self._encoded, prefetch(self._classifier.inputs, batches, threads=threads))

    def _encoded(self, inputs: ModelInputs) -> EncodedBatch:
        if not len(inputs):
            return EncodedBatch(
                np.zeros((0, self.width), np.float32), np.zeros((0, self._classifier.n_classes), np.float32)
            )
        with torch_threads_for(self._classifier.model, self._device):
            pieces = list(self._at_once.ask(np.arange(len(inputs)), inputs.batch, self._answer))
        return EncodedBatch(
            np.concatenate([piece.answer.features for piece in pieces]),
            np.concatenate([piece.answer.probabilities for piece in pieces]),
        )

    def _answer(self, batch: dict[str, torch.Tensor]) -> _NeuralBatch:
        with torch.inference_mode(), self._device.autocast():
            output = represent(
                self._model,
                on_device(batch, self._device.resolve()),
                n_classes=self._classifier.n_classes,
            )
        return _NeuralBatch(
            output.features.cpu().numpy(),
            output.logits.softmax(dim=1).cpu().numpy(),
        )


def train_encoder(
    settings: EncoderSpec,
    train: Examples,
    folder: Path,
    *,
    seed: int,
    device: DeviceSettings,
    log: Callable[[str], None],
    scratch: Path | None = None,
) -> Mapping[str, float]:
    """Train on the warm-up rows and save into `folder`: safetensors, configuration and tokenizer.

    Returns train_loss, train_accuracy, seconds, rows and steps. A training that was killed resumes from the files it
    left in `scratch`; without `scratch`, it starts again.

    Raises:
        ModelError: the model cannot be used, has no representation, or diverged.
        DataError: there are no rows, an image cannot be decoded, or a small transformer's texts have no words.
    """
    with isolated_random_state(seed), TemporaryDirectory() as passing:
        place = scratch or Path(passing)
        classifier, metrics = _trained(settings, train, seed=seed, device=device, scratch=place, log=log)
    folder.mkdir(parents=True, exist_ok=True)
    classifier.save(folder)
    return metrics


def score_encoder(
    settings: EncoderSpec,
    train: Examples,
    asked: Examples,
    *,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
) -> EncoderScore:
    """Train as `train_encoder` does and predict other rows with the encoder's own output layer; nothing is saved.

    A training that was killed resumes from the files it left in `scratch`.

    Raises:
        ModelError: the model cannot be used, has no representation, or diverged.
        DataError: there are no rows, an image cannot be decoded, or a small transformer's texts have no words.
    """
    check_inputs(settings, asked)
    with isolated_random_state(seed):
        classifier, metrics = _trained(settings, train, seed=seed, device=device, scratch=scratch, log=log)
        return EncoderScore(predict(classifier, asked, device=device, log=log).predicted, metrics)


def _trained(
    settings: EncoderSpec,
    train: Examples,
    *,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
) -> tuple[NeuralClassifier, Mapping[str, float]]:
    """Train an encoder; must be called within `isolated_random_state`."""
    from aflite_assets.models.training.train import train_classifier  # takes a second, and given features need none

    if isinstance(settings, UntrainedSpec):
        raise ModelError(f"a representation of kind {settings.kind!r} has nothing to train; give it no warm-up rows")
    check_inputs(settings, train)
    classifier = new_classifier(settings, train, log)
    # An architecture without a representation is found out before the training, not after.
    NeuralEncoder(classifier, device).encode(train.select(train.row_ids[:1]))
    result = train_classifier(classifier, train, seed=seed, device=device, scratch=scratch, log=log)
    return classifier, result.metrics


def load_encoder(
    settings: EncoderSpec,
    folder: Path | None,
    label_names: Sequence[str],
    *,
    width: int | None,
    device: DeviceSettings,
    log: Callable[[str], None] = no_log,
) -> Encoder:
    """Return the encoder that `train_encoder` saved; for `identity`, `folder` is None and `width` the features' width.

    `log` gets a line when memory runs out and the encoder continues with fewer rows at once.

    Raises:
        ModelError: the folder holds no encoder for these labels.
    """
    if isinstance(settings, IdentityEncoderSpec):
        if width is None:
            raise ModelError("an identity encoder needs the width of the features, and got None")
        return IdentityEncoder(width)
    if isinstance(settings, SurfaceEncoderSpec):
        raise ModelError("surface properties are read from all rows at once; use the stages, or scan.surface_features")
    if folder is None:
        raise ModelError(f"a {settings.kind} encoder needs the folder it was saved in, and got None")
    # Loading draws weights before they are overwritten.
    with isolated_random_state(0):
        return NeuralEncoder(saved_classifier(settings, folder, label_names), device, log)
