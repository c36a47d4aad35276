"""Families of models that read words: siamese networks, which encode each text separately, and a model based on word
overlap.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.models.family import BuiltModel, Log, ModelInputs, NeuralFamily, check_pairs
from aflite_assets.specs.models.settings import SiameseBagSpec, SiameseLstmSpec, WordOverlapSpec

WordSettings = TypeVar("WordSettings", SiameseBagSpec, SiameseLstmSpec, WordOverlapSpec)


class WordFamily(NeuralFamily[WordSettings]):
    """Base class of the families in this module. The families differ only in how a text is encoded."""

    modality = "text"

    def check(self, settings: WordSettings) -> None:
        """Check that the file of vectors exists."""
        from aflite_assets.models.words.word_vectors import check_vectors_file

        check_vectors_file(settings.vectors)

    def new(self, settings: WordSettings, train: Examples, log: Log) -> BuiltModel:
        """Build the vocabulary from the train texts, and initialise the weights."""
        from aflite_assets.models.siamese.saved_models import new_siamese

        return new_siamese(settings, train, log)

    def load(self, settings: WordSettings, folder: Path, label_names: Sequence[str]) -> BuiltModel:
        """Load the network and its vocabulary."""
        from aflite_assets.models.siamese.saved_models import saved_siamese

        return saved_siamese(folder)

    def inputs(
        self,
        settings: WordSettings,
        built: BuiltModel,
        examples: Examples,
        *,
        augmentation: np.random.Generator | None,
    ) -> ModelInputs:
        """Return the words of the text columns that the model reads."""
        from aflite_assets.models.text.inputs import text_columns

        columns = text_columns(examples, getattr(settings, "inputs", None))
        inputs: ModelInputs = built.tokenizer.inputs(examples, max_length=settings.max_length, columns=columns)
        return inputs


class SiameseBag(WordFamily[SiameseBagSpec]):
    """A siamese model with a bag of words as encoder."""

    settings = SiameseBagSpec


class SiameseLstm(WordFamily[SiameseLstmSpec]):
    """A siamese model with an LSTM as encoder."""

    settings = SiameseLstmSpec


class WordOverlap(WordFamily[WordOverlapSpec]):
    """Logistic regression on the word overlap of two texts."""

    settings = WordOverlapSpec

    def check_rows(self, settings: WordOverlapSpec, examples: Examples) -> None:
        """Raise an error if the rows have only one text."""
        check_pairs(settings.kind, examples)
