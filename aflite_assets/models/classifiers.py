"""`NeuralClassifier`, one record for text and image classifiers: model, inputs, saving, loading. Training: `training`.

Each kind of model is imported where it is used: a run of one kind need not wait for the libraries of the others.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.global_state import quiet_libraries
from aflite_assets.specs.models import (
    EsimSpec,
    ImageModelSpec,
    NeuralModelSpec,
    SiameseSpec,
    SmallTransformerSpec,
    TextModelSpec,
    TextNetworkSpec,
    WordOverlapSpec,
    WordsSpec,
)

if TYPE_CHECKING:
    from aflite_assets.models.text.pretrained import TextModel


class ModelInputs(Protocol):
    """All rows of a table in the form a model takes them."""

    def __len__(self) -> int: ...

    @property
    def lengths(self) -> np.ndarray:
        """Cost of each row; batches of rows with like lengths waste least on padding."""
        ...

    def batch(self, positions: Sequence[int] | np.ndarray) -> dict[str, torch.Tensor]:
        """The model's arguments for these rows."""
        ...


@dataclass(frozen=True)
class NeuralClassifier:
    """A model with one output per label, and what turns examples into its inputs.

    For texts that is `tokenizer`: a checkpoint's, or the `WordReader` or `PieceReader` of a model that reads words.
    """

    model: Any
    settings: NeuralModelSpec
    n_classes: int
    tokenizer: Any = None

    def inputs(self, examples: Examples, *, augmentation_seed: int | np.random.Generator | None = None) -> ModelInputs:
        """The rows as the model takes them; with a seed, as it takes train rows (augmented if so set).

        A generator is drawn from itself, so that its owner may set its state before each batch.
        """
        if isinstance(self.settings, TextModelSpec | SmallTransformerSpec):
            from aflite_assets.models.text.inputs import tokenize

            return tokenize(
                examples,
                self.tokenizer,
                inputs=self.settings.inputs,
                max_length=self.settings.max_length,
                arguments=list(inspect.signature(self.model.forward).parameters),
            )
        if isinstance(self.settings, EsimSpec):
            return self.tokenizer.inputs(examples, max_length=self.settings.max_length)
        if isinstance(self.settings, SiameseSpec | WordOverlapSpec):
            from aflite_assets.models.text.inputs import text_columns

            columns = text_columns(examples, getattr(self.settings, "inputs", None))
            return self.tokenizer.inputs(examples, max_length=self.settings.max_length, columns=columns)
        from aflite_assets.models.image.inputs import ImageInputs
        from aflite_assets.models.image.transforms import image_preparation

        rng = None if augmentation_seed is None else np.random.default_rng(augmentation_seed)
        return ImageInputs(examples, image_preparation(self.settings), augmentation=rng)

    def save(self, folder: Path) -> None:
        """Write configuration, safetensors and tokenizer; `saved_classifier` needs nothing else."""
        with quiet_libraries():
            self.model.save_pretrained(folder)
            if self.tokenizer is not None:
                self.tokenizer.save_pretrained(folder)


def new_classifier(settings: NeuralModelSpec, train: Examples, log: Callable[[str], None]) -> NeuralClassifier:
    """A classifier to be trained on these rows; its new weights are drawn from torch's global generator.

    Raises:
        ModelError: the checkpoint or the architecture cannot be used.
        DataError: the texts of a model that makes its vocabulary have no words, or word vectors cannot be read.
    """
    names = train.label_names
    if isinstance(settings, ImageModelSpec):
        from aflite_assets.models.image.timm_models import new_image_model

        model = new_image_model(
            settings.architecture,
            checkpoint=settings.checkpoint,
            image_size=settings.image_size,
            label_names=names,
            dropout=settings.dropout,
            drop_path=settings.drop_path,
        )
        return NeuralClassifier(model, settings, len(names))
    text = _new_text_model(settings, train, log)
    return NeuralClassifier(text.model, settings, len(names), text.tokenizer)


def _new_text_model(settings: TextNetworkSpec, train: Examples, log: Callable[[str], None]) -> "TextModel":
    if isinstance(settings, EsimSpec):
        from aflite_assets.models.esim.saved_models import new_esim

        return new_esim(settings, train, log)
    if isinstance(settings, WordsSpec):
        from aflite_assets.models.siamese.saved_models import new_siamese

        return new_siamese(settings, train, log)
    if isinstance(settings, SmallTransformerSpec):
        from aflite_assets.models.text.small_transformer import new_small_text_model

        return new_small_text_model(settings, train)
    from aflite_assets.models.text.pretrained import pretrained_text_model

    return pretrained_text_model(
        settings.checkpoint, revision=settings.revision, label_names=train.label_names, log=log
    )


def saved_classifier(settings: NeuralModelSpec, folder: Path, label_names: Sequence[str]) -> NeuralClassifier:
    """A trained classifier that `NeuralClassifier.save` wrote into `folder`.

    Raises:
        ModelError: the folder holds no such classifier, or one for another number of labels.
    """
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} holds no encoder (no config.json); materialise warmup_models again")
    if isinstance(settings, TextModelSpec | SmallTransformerSpec):
        from aflite_assets.models.text.pretrained import pretrained_text_model

        new_weights: list[str] = []
        text = pretrained_text_model(str(folder), revision=None, label_names=label_names, log=new_weights.append)
        if new_weights:
            raise _wrong_labels(folder, label_names)
        return NeuralClassifier(text.model, settings, len(label_names), text.tokenizer)
    if isinstance(settings, EsimSpec):
        from aflite_assets.models.esim.saved_models import saved_esim

        text = saved_esim(folder)
        model, tokenizer = text.model, text.tokenizer
    elif isinstance(settings, WordsSpec):
        from aflite_assets.models.siamese.saved_models import saved_siamese

        text = saved_siamese(folder)
        model, tokenizer = text.model, text.tokenizer
    else:
        from aflite_assets.models.image.timm_models import saved_image_model

        model, tokenizer = saved_image_model(folder), None
    if model.num_labels != len(label_names):
        raise _wrong_labels(folder, label_names)
    return NeuralClassifier(model, settings, len(label_names), tokenizer)


def _wrong_labels(folder: Path, label_names: Sequence[str]) -> ModelError:
    return ModelError(
        f"the encoder in {folder} was not trained on the dataset's {len(label_names)} labels "
        f"({', '.join(label_names)}); materialise warmup_models again"
    )
