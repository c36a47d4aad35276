"""Model family of ESIM, a classifier of text pairs."""

from collections.abc import Sequence
from pathlib import Path

from aflite_assets.data.examples import Examples
from aflite_assets.models.family import BuiltModel, Log, check_pairs
from aflite_assets.models.words.family import WordFamily
from aflite_assets.specs.models.settings import EsimSpec


class EsimFamily(WordFamily[EsimSpec]):
    """ESIM on word vectors that are learned, read from a file, or computed by a contextual checkpoint."""

    settings = EsimSpec

    def check_rows(self, settings: EsimSpec, examples: Examples) -> None:
        """Raise an error if the rows have only one text."""
        check_pairs(settings.kind, examples)

    def check(self, settings: EsimSpec) -> None:
        """Check that the file of vectors exists, and check the contextual checkpoint."""
        super().check(settings)
        if settings.contextual is not None:
            from aflite_assets.models.esim.contextual_vectors import check_contextual_checkpoint

            check_contextual_checkpoint(settings.contextual, revision=settings.revision, max_length=settings.max_length)

    def new(self, settings: EsimSpec, train: Examples, log: Log) -> BuiltModel:
        """Build the vocabulary from the train texts, and initialise the weights."""
        from aflite_assets.models.esim.saved_models import new_esim

        return new_esim(settings, train, log)

    def load(self, settings: EsimSpec, folder: Path, label_names: Sequence[str]) -> BuiltModel:
        """Load the network and its vocabulary."""
        from aflite_assets.models.esim.saved_models import saved_esim

        return saved_esim(folder)
