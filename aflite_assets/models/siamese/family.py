"""Families of models that read words: siamese networks, which encode each text separately, and a model based on word
overlap.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from aflite_assets.data.examples import Examples
from aflite_assets.models.family import BuiltModel, Log, check_pairs
from aflite_assets.models.words.family import WordFamily
from aflite_assets.specs.models.settings import SiameseBagSpec, SiameseLstmSpec, WordOverlapSpec

Settings = TypeVar("Settings", SiameseBagSpec, SiameseLstmSpec, WordOverlapSpec)


class SiameseFamily(WordFamily[Settings]):
    """Base class of the families in this module. The families differ only in how a text is encoded."""

    def new(self, settings: Settings, train: Examples, log: Log) -> BuiltModel:
        """Build the vocabulary from the train texts, and initialise the weights."""
        from aflite_assets.models.siamese.saved_models import new_siamese

        return new_siamese(settings, train, log)

    def load(self, settings: Settings, folder: Path, label_names: Sequence[str]) -> BuiltModel:
        """Load the network and its vocabulary."""
        from aflite_assets.models.siamese.saved_models import saved_siamese

        return saved_siamese(folder)


class SiameseBag(SiameseFamily[SiameseBagSpec]):
    """A siamese model with a bag of words as encoder."""

    settings = SiameseBagSpec


class SiameseLstm(SiameseFamily[SiameseLstmSpec]):
    """A siamese model with an LSTM as encoder."""

    settings = SiameseLstmSpec


class WordOverlap(SiameseFamily[WordOverlapSpec]):
    """Logistic regression on the word overlap of two texts."""

    settings = WordOverlapSpec

    def check_rows(self, settings: WordOverlapSpec, examples: Examples) -> None:
        """Raise an error if the rows have only one text."""
        check_pairs(settings.kind, examples)
