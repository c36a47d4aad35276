"""The families of siamese networks: each text is encoded by itself, as a bag of words or by an LSTM."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.models.family import BuiltModel, Log, ModelInputs, NeuralFamily
from aflite_assets.specs.models.settings import SiameseBagSpec, SiameseLstmSpec

SiameseSettings = TypeVar("SiameseSettings", SiameseBagSpec, SiameseLstmSpec)


class SiameseFamily(NeuralFamily[SiameseSettings]):
    """Base of both: what they share is all but the encoder of a text."""

    modality = "text"

    def check(self, settings: SiameseSettings) -> None:
        """Look for the file of vectors."""
        from aflite_assets.models.words.word_vectors import check_vectors_file

        check_vectors_file(settings.vectors)

    def new(self, settings: SiameseSettings, train: Examples, log: Log) -> BuiltModel:
        """Read the words of the train texts and draw the weights."""
        from aflite_assets.models.siamese.saved_models import new_siamese

        return new_siamese(settings, train, log)

    def load(self, settings: SiameseSettings, folder: Path, label_names: Sequence[str]) -> BuiltModel:
        """Load the network and its vocabulary."""
        from aflite_assets.models.siamese.saved_models import saved_siamese

        return saved_siamese(folder)

    def inputs(
        self,
        settings: SiameseSettings,
        built: BuiltModel,
        examples: Examples,
        *,
        augmentation: np.random.Generator | None,
    ) -> ModelInputs:
        """Return the words of the texts that the model sees."""
        from aflite_assets.models.text.inputs import text_columns

        columns = text_columns(examples, settings.inputs)
        inputs: ModelInputs = built.tokenizer.inputs(examples, max_length=settings.max_length, columns=columns)
        return inputs


class SiameseBag(SiameseFamily[SiameseBagSpec]):
    """A siamese bag of words."""

    settings = SiameseBagSpec


class SiameseLstm(SiameseFamily[SiameseLstmSpec]):
    """A siamese LSTM."""

    settings = SiameseLstmSpec
