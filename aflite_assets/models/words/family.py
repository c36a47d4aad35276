"""The base class of model families that read words. The packages `siamese` and `esim` have the families."""

from typing import TypeVar

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.models.family import BuiltModel, ModelInputs, NeuralFamily
from aflite_assets.specs.models.settings import EsimSpec, SiameseBagSpec, SiameseLstmSpec, WordOverlapSpec

WordSettings = TypeVar("WordSettings", EsimSpec, SiameseBagSpec, SiameseLstmSpec, WordOverlapSpec)


class WordFamily(NeuralFamily[WordSettings]):
    """Base class of families whose word vectors may come from a file."""

    modality = "text"

    def check(self, settings: WordSettings) -> None:
        """Check that the file of vectors exists."""
        from aflite_assets.models.words.word_vectors import check_vectors_file

        check_vectors_file(settings.vectors)

    def inputs(
        self, settings: WordSettings, built: BuiltModel, examples: Examples, *, augmentation: np.random.Generator | None
    ) -> ModelInputs:
        """Return the words of the text columns that the model reads."""
        from aflite_assets.models.text.inputs import text_columns

        columns = text_columns(examples, getattr(settings, "inputs", None))
        inputs: ModelInputs = built.tokenizer.inputs(examples, max_length=settings.max_length, columns=columns)
        return inputs
