"""Interfaces of a kind of model: building, loading, reading rows and checking settings.

Another package adds a kind by deriving from `NeuralFamily` or `ClassicalFamily` and registering an instance as an entry
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
"""Rows x width float64; in single precision, the solvers stop short of the optimum."""

MakeMatrix: TypeAlias = Callable[[Examples], Matrix]
"""A function, fitted on train rows, that returns one row per example."""

Log = Callable[[str], None]
"""A function that takes a line for the user to read during the run."""

Settings = TypeVar("Settings", bound=StrictSpec)
NeuralSettings = TypeVar("NeuralSettings", bound=TrainingSpec)
ClassicalSettings = TypeVar("ClassicalSettings", bound=ClassicalSpec)


class ModelInputs(Protocol):
    """All rows of a table in the form a model takes them."""

    def __len__(self) -> int: ...

    @property
    def lengths(self) -> np.ndarray:
        """Cost of each row; batches of rows with similar lengths waste least on padding."""
        ...

    def batch(self, positions: Sequence[int] | np.ndarray) -> "dict[str, torch.Tensor]":
        """Return the model's arguments for these rows."""
        ...


def check_pairs(kind: str, examples: Examples) -> None:
    """Refuse rows of a single text, for a kind of model that compares two."""
    if "text_pair" not in examples.table.column_names:
        raise ModelError(
            f"a model of kind {kind!r} compares two texts, but each row of the dataset has one text (there is no "
            "column `text_pair`); choose 'huggingface_text' or 'small_transformer', or 'linear' as evaluator"
        )


def other_labels(folder: Path, label_names: Sequence[str]) -> ModelError:
    """Return the error for a folder that holds a model with another number of labels."""
    return ModelError(
        f"the encoder in {folder} was not trained on the dataset's {len(label_names)} labels "
        f"({', '.join(label_names)}); materialise `warmup_models` again"
    )


@dataclass(frozen=True)
class BuiltModel:
    """A network, and the reader of its rows if that is learnt or loaded with it (a tokenizer, a vocabulary).

    `model`: a torch module whose last linear layer makes the `logits`, rows x classes, of its outputs. `model` has
    `num_labels`, and `save_pretrained(folder)`, which writes config.json and safetensors. `tokenizer` also has
    `save_pretrained`.
    """

    model: Any
    tokenizer: Any = None


class ModelFamily(ABC, Generic[Settings]):
    """Base of both kinds of families: the settings of the kind, and the rows that it reads, or None if it reads any."""

    settings: type[Settings]
    modality: Modality | None = None

    def check(self, settings: Settings) -> None:  # many kinds name nothing
        """Check everything that the settings name, such as a checkpoint or a file, before anything expensive; no
        weights are loaded.

        Raises:
            ModelError: states the given value and a valid alternative.
        """

    def check_rows(self, settings: Settings, examples: Examples) -> None:  # most kinds need no more
        """Check rows for requirements other than the kind of input and the columns that the settings name.

        Raises:
            ModelError: states what the rows lack.
        """

    def make(self, settings: Settings) -> str:
        """Return a text that is equal for models of one make; these do not judge one another."""
        return str(getattr(settings, "kind", type(self).__name__))

    def architecture(self, settings: Settings) -> str:
        """Return a text that is equal for models of one architecture, whatever their size and weights."""
        return self.make(settings)


class NeuralFamily(ModelFamily[NeuralSettings]):
    """A kind of network that the shared trainer trains, as an encoder or as an evaluator."""

    @abstractmethod
    def new(self, settings: NeuralSettings, train: Examples, log: Log) -> BuiltModel:
        """Build a model to be trained on these rows; new weights are drawn from torch's global generator.

        Raises:
            ModelError, DataError: it cannot be built with these settings, or from these rows.
        """

    @abstractmethod
    def load(self, settings: NeuralSettings, folder: Path, label_names: Sequence[str]) -> BuiltModel:
        """Load a model and a tokenizer that their `save_pretrained` methods wrote into `folder`.

        Raises:
            ModelError: the folder holds no such model.
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
        """Return the rows as the model takes them; with a generator, as it takes images for training."""

    def most_weights(self, settings: NeuralSettings) -> int | None:
        """Return an upper bound of the number of weights with up to 100 classes, or None if the settings do not
        determine it.
        """
        return None


class ClassicalFamily(ModelFamily[ClassicalSettings]):
    """A kind of evaluator with scikit-learn's interface, fitted once on a matrix of the rows."""

    gives_probabilities: bool = True
    """Whether the estimator has `predict_proba`."""

    predictions_grow: bool = False
    """Whether predicting a row takes longer with more train rows; `aflite check` uses this for its estimate."""

    @abstractmethod
    def estimator(self, settings: ClassicalSettings) -> Any:
        """Return a new scikit-learn classifier, without randomness, whose `fit` takes `sample_weight`."""

    def matrix_maker(
        self, settings: ClassicalSettings, train: Examples, *, row_weights: np.ndarray | None
    ) -> MakeMatrix | None:
        """Return the function that turns rows into a matrix, as learnt from the train rows.

        None, the default, means features, pixels, or TF-IDF weights of words and word pairs.
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
