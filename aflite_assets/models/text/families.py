"""Families of Hugging Face text classifiers: fine-tuned checkpoints, and small BERTs that are trained from scratch."""

import inspect
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.models.family import BuiltModel, Log, ModelInputs, NeuralFamily, other_labels
from aflite_assets.specs.models.settings import SmallTransformerSpec, TextModelSpec

TokenizedSettings = TypeVar("TokenizedSettings", TextModelSpec, SmallTransformerSpec)


class TokenizedFamily(NeuralFamily[TokenizedSettings]):
    """Base class of both families: sequence classifiers from transformers, with a tokenizer for word pieces."""

    modality = "text"

    def load(self, settings: TokenizedSettings, folder: Path, label_names: Sequence[str]) -> BuiltModel:
        """Load a model from its folder. An error is raised if weights are missing, because the model was then trained
        on other labels.
        """
        from aflite_assets.models.text.pretrained import pretrained_text_model

        new_weights: list[str] = []
        built = pretrained_text_model(str(folder), revision=None, label_names=label_names, log=new_weights.append)
        if new_weights:
            raise other_labels(folder, label_names)
        return built

    def inputs(
        self,
        settings: TokenizedSettings,
        built: BuiltModel,
        examples: Examples,
        *,
        augmentation: np.random.Generator | None,
    ) -> ModelInputs:
        """Tokenize the texts, and return the arguments that the model's `forward` accepts."""
        from aflite_assets.models.text.inputs import tokenize

        return tokenize(
            examples,
            built.tokenizer,
            inputs=settings.inputs,
            max_length=settings.max_length,
            arguments=list(inspect.signature(built.model.forward).parameters),
        )


class HuggingFaceText(TokenizedFamily[TextModelSpec]):
    """Any sequence classifier from a checkpoint, which is a folder or the id of a model on the Hugging Face hub."""

    settings = TextModelSpec

    def check(self, settings: TextModelSpec) -> None:
        """Check the checkpoint's configuration and tokenizer."""
        from aflite_assets.models.text.pretrained import check_text_checkpoint

        check_text_checkpoint(settings.checkpoint, revision=settings.revision, max_length=settings.max_length)

    def new(self, settings: TextModelSpec, train: Examples, log: Log) -> BuiltModel:
        """Load the checkpoint with a new output layer for the labels."""
        from aflite_assets.models.text.pretrained import pretrained_text_model

        return pretrained_text_model(
            settings.checkpoint, revision=settings.revision, label_names=train.label_names, log=log
        )

    def make(self, settings: TextModelSpec) -> str:
        """Return the model kind and the checkpoint."""
        return f"{settings.kind} {settings.checkpoint}"

    def architecture(self, settings: TextModelSpec) -> str:
        """Return the `model_type` from the checkpoint's folder. For an id on the hub, return the model's name up to the
        first hyphen.

        For example, the architecture of `roberta-large` and `roberta-base` is `roberta`. A misleading id is not
        detected.
        """
        config = Path(settings.checkpoint).expanduser() / "config.json"
        known = json.loads(config.read_text(encoding="utf-8")).get("model_type") if config.is_file() else None
        name = known if isinstance(known, str) else re.split(r"[/\\]", settings.checkpoint.rstrip("/\\"))[-1]
        return f"{settings.kind} {name.lower().partition('-')[0]}"


class SmallTransformer(TokenizedFamily[SmallTransformerSpec]):
    """A small BERT with word pieces that are learned from the train texts."""

    settings = SmallTransformerSpec

    def new(self, settings: SmallTransformerSpec, train: Examples, log: Log) -> BuiltModel:
        """Learn the word pieces and initialise the weights."""
        from aflite_assets.models.text.small_transformer import new_small_text_model

        return new_small_text_model(settings, train)

    def most_weights(self, settings: SmallTransformerSpec) -> int:
        """Return the number of weights in the embeddings, the layers and an output layer for 100 classes."""
        width = settings.width
        tables = (settings.vocabulary + settings.max_length + 4) * width
        return tables + settings.layers * (12 * width * width + 13 * width) + width * (width + 1) + 100 * (width + 1)
