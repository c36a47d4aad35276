"""Interfaces of model families. A family is a kind of model: it builds and loads models, converts their rows and checks
their settings.

To add a kind, a package derives a class from `NeuralFamily` or `ClassicalFamily` and registers an instance as an entry
point of the group `aflite_assets.models`. Torch and other large libraries are imported inside the methods, so that a
settings file can be read without them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from aflite_assets.data.examples import Examples, Modality
from aflite_assets.errors import ModelError
from aflite_assets.specs.models.settings import ClassicalSpec, EarlyStoppingSpec, StrictSpec, TextInputs, TrainingSpec

if TYPE_CHECKING:
    import torch
    from scipy import sparse


Matrix: TypeAlias = "np.ndarray | sparse.csr_matrix"
"""A matrix, rows x width, float64. In single precision, the solvers stop before they reach the optimum."""

MakeMatrix: TypeAlias = Callable[[Examples], Matrix]
"""A function, fitted on train rows, that returns one row per example."""

Log = Callable[[str], None]
"""A function that takes a line for the user to read during the run."""

Settings = TypeVar("Settings", bound=StrictSpec)
NeuralSettings = TypeVar("NeuralSettings", bound=TrainingSpec)
ClassicalSettings = TypeVar("ClassicalSettings", bound=ClassicalSpec)


class ModelInputs(Protocol):
    """All rows of a table, converted to the input form of a model."""

    def __len__(self) -> int: ...

    @property
    def lengths(self) -> np.ndarray:
        """Length of each row, a measure of its cost. Batches of rows with similar lengths need the least padding."""
        ...

    def batch(self, positions: Sequence[int] | np.ndarray) -> "dict[str, torch.Tensor]":
        """Return the arguments of the model's forward pass for the rows at `positions`."""
        ...


def check_pairs(kind: str, examples: Examples) -> None:
    """Raise an error if the rows have only one text, because the model compares two texts."""
    if "text_pair" not in examples.table.column_names:
        raise ModelError(
            f"a model of kind {kind!r} compares two texts, but each row of the dataset has one text (there is no "
            "column `text_pair`); choose 'huggingface_text' or 'small_transformer', or 'linear' as evaluator"
        )


def other_labels(folder: Path, label_names: Sequence[str]) -> ModelError:
    """Return the error for a saved model with another number of labels than the data."""
    return ModelError(
        f"the encoder in {folder} was not trained on the dataset's {len(label_names)} labels "
        f"({', '.join(label_names)}); materialise the asset `warmup_models` again"
    )


@dataclass(frozen=True)
class BuiltModel:
    """A network, and its tokenizer or vocabulary if the network has one.

    `model`: a torch module with a last linear layer that computes the output `logits`, rows x classes. `model` has an
    attribute `num_labels` and a method `save_pretrained(folder)`, which writes `config.json` and safetensors.
    `tokenizer` also has a method `save_pretrained`.
    """

    model: Any
    tokenizer: Any = None


class ModelFamily(ABC, Generic[Settings]):
    """Base class of neural and classical families. A family has a settings class and the type of rows that its models
    read (None for any type).
    """

    settings: type[Settings]
    modality: Modality | None = None

    def check(self, settings: Settings) -> None:  # many kinds name nothing
        """Check the checkpoint or the files that the settings refer to, before any expensive work. No weights are
        loaded.

        Raises:
            ModelError: a setting is not valid; the message contains its value and a valid alternative.
        """

    def check_rows(self, settings: Settings, examples: Examples) -> None:  # most kinds need no more
        """Check additional requirements on the rows. The type of input and the columns are checked elsewhere.

        Raises:
            ModelError: the rows do not meet a requirement; the message names the requirement.
        """

    def make(self, settings: Settings) -> str:
        """Return a text that is equal for closely related models, for example for models from the same checkpoint. A
        filter is never judged by an evaluator that is closely related to the filter's encoder.
        """
        return str(getattr(settings, "kind", type(self).__name__))

    def architecture(self, settings: Settings) -> str:
        """Return a text that is equal for all models of the same architecture, regardless of their sizes and
        weights.
        """
        return self.make(settings)


class NeuralFamily(ModelFamily[NeuralSettings]):
    """A family of networks that the shared trainer trains as encoders or evaluators."""

    @abstractmethod
    def new(self, settings: NeuralSettings, train: Examples, log: Log) -> BuiltModel:
        """Build a model to be trained on the given rows. New weights are drawn from torch's global random generator.

        Raises:
            ModelError, DataError: the model cannot be built with the given settings, or from the given rows.
        """

    @abstractmethod
    def load(self, settings: NeuralSettings, folder: Path, label_names: Sequence[str]) -> BuiltModel:
        """Load the model and the tokenizer that `save_pretrained` wrote into `folder`.

        Raises:
            ModelError: the folder contains no model of this family.
        """

    @abstractmethod
    def inputs(
        self,
        settings: NeuralSettings,
        built: BuiltModel,
        examples: Examples,
        *,
        augmentation: np.random.Generator | None,
    ) -> ModelInputs:
        """Return the rows in the model's input form. With a generator, images are augmented for training."""

    def most_weights(self, settings: NeuralSettings) -> int | None:
        """Return an upper bound on the number of weights for up to 100 classes, or None if the settings do not
        determine the number.
        """
        return None


class ClassicalFamily(ModelFamily[ClassicalSettings]):
    """A family of evaluators with scikit-learn's interface, fitted once on a matrix of the rows."""

    gives_probabilities: bool = True
    """True if the estimator has `predict_proba`."""

    predictions_grow: bool = False
    """True if the prediction of a row takes longer with more train rows. `aflite check` uses this attribute for its
    estimate.
    """

    @abstractmethod
    def estimator(self, settings: ClassicalSettings) -> Any:
        """Return a new deterministic scikit-learn classifier. Its `fit` accepts `sample_weight`."""

    def matrix_maker(
        self, settings: ClassicalSettings, train: Examples, *, row_weights: np.ndarray | None
    ) -> MakeMatrix | None:
        """Return a function, fitted on the train rows, that converts rows to a matrix.

        By default, this method returns None, which means the usual matrix: features, pixels, or TF-IDF weights of words
        and word pairs.
        """
        return None


__all__ = [
    "BuiltModel",
    "ClassicalFamily",
    "ClassicalSpec",
    "EarlyStoppingSpec",
    "Log",
    "MakeMatrix",
    "Matrix",
    "Modality",
    "ModelFamily",
    "ModelInputs",
    "NeuralFamily",
    "StrictSpec",
    "TextInputs",
    "TrainingSpec",
    "check_pairs",
    "other_labels",
]
