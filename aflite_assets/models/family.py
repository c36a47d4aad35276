"""Interfaces of a kind of model: what building, loading, reading rows and checking settings are to the rest.

Another package adds a kind by deriving from `NeuralFamily` or `ClassicalFamily` and naming an instance in an entry
point of the group `aflite_assets.models`. Torch and other large libraries are imported inside the methods: a file of
settings is read without them.
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
"""Rows x width float64: in single precision the solvers stop short of the optimum."""

MakeMatrix: TypeAlias = Callable[[Examples], Matrix]
"""Fitted on train rows; gives one row per example."""

Log = Callable[[str], None]
"""Takes a line that a person reads beside the run."""

Settings = TypeVar("Settings", bound=StrictSpec)
NeuralSettings = TypeVar("NeuralSettings", bound=TrainingSpec)
ClassicalSettings = TypeVar("ClassicalSettings", bound=ClassicalSpec)


class ModelInputs(Protocol):
    """All rows of a table in the form a model takes them."""

    def __len__(self) -> int: ...

    @property
    def lengths(self) -> np.ndarray:
        """Cost of each row; batches of rows with like lengths waste least on padding."""
        ...

    def batch(self, positions: Sequence[int] | np.ndarray) -> "dict[str, torch.Tensor]":
        """Return the model's arguments for these rows."""
        ...


def check_pairs(kind: str, examples: Examples) -> None:
    """Refuse rows of one text, for a kind of model that compares two."""
    if "text_pair" not in examples.table.column_names:
        raise ModelError(
            f"a model of kind {kind!r} compares two texts, but the dataset's rows have one (text, no text_pair); "
            "choose 'huggingface_text' or 'small_transformer', or 'linear' as evaluator"
        )


def other_labels(folder: Path, label_names: Sequence[str]) -> ModelError:
    """Return the error for a folder with a model of another number of labels."""
    return ModelError(
        f"the encoder in {folder} was not trained on the dataset's {len(label_names)} labels "
        f"({', '.join(label_names)}); materialise warmup_models again"
    )


@dataclass(frozen=True)
class BuiltModel:
    """A network, and the reader of its rows where that is learnt or loaded with it (a tokenizer, a vocabulary).

    `model`: a torch module whose outputs have `logits`, rows x classes, made by its last linear layer; it has
    `num_labels`, and `save_pretrained(folder)` writes config.json and safetensors. `tokenizer` has `save_pretrained`
    too.
    """

    model: Any
    tokenizer: Any = None


class ModelFamily(ABC, Generic[Settings]):
    """Base of both: the settings of the kind, and the rows that it reads; None where it reads any."""

    settings: type[Settings]
    modality: Modality | None = None

    def check(self, settings: Settings) -> None:  # many kinds name nothing
        """Check what the settings name, such as a checkpoint or a file, before anything expensive; loads no weights.

        Raises:
            ModelError: with what was given and what to give instead.
        """

    def check_rows(self, settings: Settings, examples: Examples) -> None:  # most kinds need no more
        """Check what the rows must have beside the kind of input and the columns that the settings name.

        Raises:
            ModelError: with what the rows lack.
        """

    def make(self, settings: Settings) -> str:
        """Return the same text for models of one make, which are no judges of one another."""
        return str(getattr(settings, "kind", type(self).__name__))

    def architecture(self, settings: Settings) -> str:
        """Return the same text for models of one architecture, whatever their size and weights."""
        return self.make(settings)


class NeuralFamily(ModelFamily[NeuralSettings]):
    """A kind of network that our trainer trains, as an encoder or as an evaluator."""

    @abstractmethod
    def new(self, settings: NeuralSettings, train: Examples, log: Log) -> BuiltModel:
        """Build a model to be trained on these rows; new weights are drawn from torch's global generator.

        Raises:
            ModelError, DataError: it cannot be built with these settings, or of these rows.
        """

    @abstractmethod
    def load(self, settings: NeuralSettings, folder: Path, label_names: Sequence[str]) -> BuiltModel:
        """Load what `BuiltModel.model.save_pretrained` and its tokenizer's wrote into `folder`.

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
        """Return the rows as the model takes them; with a generator, as it takes train rows of images."""

    def most_weights(self, settings: NeuralSettings) -> int | None:
        """Return an upper bound of the number of weights with up to 100 classes; None where the settings do not say."""
        return None


class ClassicalFamily(ModelFamily[ClassicalSettings]):
    """A kind of evaluator with scikit-learn's interface, fitted once on a matrix of the rows."""

    gives_probabilities: bool = True
    """Whether the estimator has `predict_proba`."""

    predictions_grow: bool = False
    """Whether predicting a row takes longer the more train rows there were; `aflite check` estimates with it."""

    @abstractmethod
    def estimator(self, settings: ClassicalSettings) -> Any:
        """Return a new scikit-learn classifier, without randomness, whose `fit` takes `sample_weight`."""

    def matrix_maker(
        self, settings: ClassicalSettings, train: Examples, *, row_weights: np.ndarray | None
    ) -> MakeMatrix | None:
        """Return what turns rows into a matrix, as learnt from the train rows.

        None, the default, stands for features, pixels, or TF-IDF weights of words and word pairs.
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
