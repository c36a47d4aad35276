"""A package with two kinds of models of its own: a network that reads features, and naive Bayes. Used by tests."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.models.family import (
    BuiltModel,
    ClassicalFamily,
    ClassicalSpec,
    Log,
    ModelInputs,
    NeuralFamily,
    TrainingSpec,
)


class TinyNetworkSpec(TrainingSpec):
    """A network of one hidden layer on a dataset's features."""

    kind: Literal["tiny_network"]
    hidden: int = 8
    learning_rate: float = 1e-2


class NaiveBayesSpec(ClassicalSpec):
    """Gaussian naive Bayes."""

    kind: Literal["naive_bayes"]


class _Rows:
    def __init__(self, features: np.ndarray) -> None:
        self._features = features
        self.lengths = np.ones(len(features), dtype=np.int64)

    def __len__(self) -> int:
        return len(self._features)

    def batch(self, positions: Sequence[int] | np.ndarray) -> dict[str, Any]:
        import torch

        return {"features": torch.from_numpy(self._features[np.asarray(positions)])}


def _network(width: int, hidden: int, n_classes: int) -> Any:
    import torch
    from safetensors.torch import save_file
    from transformers.modeling_outputs import SequenceClassifierOutput

    class TinyNetwork(torch.nn.Module):
        num_labels = n_classes

        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Sequential(
                torch.nn.Linear(width, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, n_classes)
            )

        def forward(self, features: torch.Tensor) -> SequenceClassifierOutput:
            return SequenceClassifierOutput(logits=self.layers(features))

        def save_pretrained(self, folder: Path) -> None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            sizes = {"width": width, "hidden": hidden, "n_classes": n_classes}
            (Path(folder) / "config.json").write_text(json.dumps(sizes), encoding="utf-8")
            save_file(self.state_dict(), Path(folder) / "model.safetensors")

    return TinyNetwork()


class TinyNetwork(NeuralFamily[TinyNetworkSpec]):
    """The family of `TinyNetworkSpec`."""

    settings = TinyNetworkSpec
    modality = "features"

    def new(self, settings: TinyNetworkSpec, train: Examples, log: Log) -> BuiltModel:
        return BuiltModel(_network(train.features.shape[1], settings.hidden, len(train.label_names)))

    def load(self, settings: TinyNetworkSpec, folder: Path, label_names: Sequence[str]) -> BuiltModel:
        from safetensors.torch import load_file

        model = _network(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
        model.load_state_dict(load_file(folder / "model.safetensors"))
        return BuiltModel(model)

    def inputs(
        self,
        settings: TinyNetworkSpec,
        built: BuiltModel,
        examples: Examples,
        *,
        augmentation: np.random.Generator | None,
    ) -> ModelInputs:
        return _Rows(examples.features.astype(np.float32))


class NaiveBayes(ClassicalFamily[NaiveBayesSpec]):
    """The family of `NaiveBayesSpec`."""

    settings = NaiveBayesSpec

    def estimator(self, settings: NaiveBayesSpec) -> Any:
        from sklearn.naive_bayes import GaussianNB

        return GaussianNB()


NETWORK, BAYES = TinyNetwork(), NaiveBayes()
NOT_A_FAMILY = "a text"
