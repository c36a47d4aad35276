"""The class `NeuralClassifier`, which holds any kind of network with its inputs, and saves and loads the network. The
package `training` trains the network.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.family import BuiltModel, ModelInputs, other_labels
from aflite_assets.models.family_registry import neural_family
from aflite_assets.models.global_state import quiet_libraries
from aflite_assets.specs.models.kinds import NeuralModelSpec


@dataclass(frozen=True)
class NeuralClassifier:
    """A model with one output per label, and the code that converts examples to model inputs.

    For texts, `tokenizer` converts the examples. The tokenizer comes from a checkpoint, or is the `WordReader` or
    `PieceReader` of a model that reads words.
    """

    model: Any
    settings: NeuralModelSpec
    n_classes: int
    tokenizer: Any = None

    @property
    def reads_images(self) -> bool:
        """True if the model's rows are images. Several threads decode images while a GPU computes. Texts are converted
        in one thread, because only one thread at a time can use a tokenizer.
        """
        return neural_family(self.settings).modality == "image"

    def inputs(self, examples: Examples, *, augmentation_seed: int | np.random.Generator | None = None) -> ModelInputs:
        """Return the rows in the model's input form. With a seed, the rows are prepared for training and, depending on
        the settings, augmented.

        `augmentation_seed` may also be a generator. The caller can then set the generator's state before each batch.
        """
        rng = None if augmentation_seed is None else np.random.default_rng(augmentation_seed)
        built = BuiltModel(self.model, self.tokenizer)
        return neural_family(self.settings).inputs(self.settings, built, examples, augmentation=rng)

    def save(self, folder: Path) -> None:
        """Write the configuration, the weights (safetensors) and the tokenizer: all files that `saved_classifier`
        reads.
        """
        with quiet_libraries():
            self.model.save_pretrained(folder)
            if self.tokenizer is not None:
                self.tokenizer.save_pretrained(folder)


def new_classifier(settings: NeuralModelSpec, train: Examples, log: Callable[[str], None]) -> NeuralClassifier:
    """Return a classifier to be trained on the given rows. New weights are drawn from torch's global random generator.

    Raises:
        ModelError: the checkpoint or the architecture cannot be used.
        DataError: the texts have no words for the model's vocabulary, or word vectors cannot be read.
    """
    built = neural_family(settings).new(settings, train, log)
    return NeuralClassifier(built.model, settings, len(train.label_names), built.tokenizer)


def saved_classifier(settings: NeuralModelSpec, folder: Path, label_names: Sequence[str]) -> NeuralClassifier:
    """Return the trained classifier that `NeuralClassifier.save` wrote into `folder`.

    Raises:
        ModelError: the folder contains no classifier, or the classifier has another number of labels.
    """
    if not (folder / "config.json").is_file():
        raise ModelError(
            f"the folder {folder} holds no encoder, because the file config.json is missing; materialise the asset "
            "`warmup_models` again"
        )
    built = neural_family(settings).load(settings, folder, label_names)
    if built.model.num_labels != len(label_names):
        raise other_labels(folder, label_names)
    return NeuralClassifier(built.model, settings, len(label_names), built.tokenizer)
