"""Building and loading of siamese models, together with their readers, which convert texts to words."""

from collections.abc import Callable, Sequence
from pathlib import Path

from aflite_assets.data.examples import Examples
from aflite_assets.models.family import BuiltModel
from aflite_assets.models.siamese.network import Siamese, SiameseConfiguration
from aflite_assets.models.siamese.overlap import WordOverlapNetwork
from aflite_assets.models.text.inputs import TextColumn, text_columns
from aflite_assets.models.words.saved_networks import loading, read_configuration, saved_reader
from aflite_assets.models.words.word_inputs import UNKNOWN_WORD, WordReader
from aflite_assets.models.words.word_tables import ReadWords, read_words
from aflite_assets.specs.models.settings import SiameseBagSpec, SiameseLstmSpec, WordOverlapSpec

Settings = SiameseBagSpec | SiameseLstmSpec | WordOverlapSpec
"""Settings of the models in this package."""


def new_siamese(settings: Settings, train: Examples, log: Callable[[str], None]) -> BuiltModel:
    """Return a model with random weights from torch's global generator, and the reader that converts texts to words.

    The vocabulary holds the most frequent words of the train texts. If the vocabulary has room left and there is a file
    of word vectors, further words from the start of the file are added. The vectors of words that do not occur in the
    train texts are not trained. If a word of the train texts is not in the file, its vector gets normally distributed
    numbers with the standard deviation of the file's vectors.

    Raises:
        DataError: the texts have no words, or the file of word vectors is unreadable or contains no word of the texts.
    """
    columns = text_columns(train, None if isinstance(settings, WordOverlapSpec) else settings.inputs)
    texts = (text for column in columns for text in train.texts(column))
    words = read_words(texts, rows=len(train), file=settings.vectors, vocabulary=settings.vocabulary, log=log)
    reader = words.reader()
    model = _network(_configuration(settings, train, columns, words, reader))
    if not isinstance(settings, WordOverlapSpec):
        model.vectors.table.weight.requires_grad_(settings.train_vectors)
    if words.vectors is not None:
        model.vectors.fill(reader, words.vectors)
    return BuiltModel(model, reader)


def saved_siamese(folder: Path) -> BuiltModel:
    """Return the model that was saved in `folder`, and the reader that converts texts to words. No file outside the
    folder is read.

    Raises:
        ModelError: the folder does not contain a saved siamese model.
    """
    with loading(folder, Siamese):
        configuration = read_configuration(folder, Siamese, SiameseConfiguration)
        reader = saved_reader(folder, configuration.words + configuration.other_words)
        model = _network(configuration)
        model.load_weights(folder)
        return BuiltModel(model, reader)


def _network(configuration: SiameseConfiguration) -> Siamese | WordOverlapNetwork:
    return WordOverlapNetwork(configuration) if configuration.encoder == "overlap" else Siamese(configuration)


def _configuration(
    settings: Settings, train: Examples, columns: Sequence[TextColumn], words: ReadWords, reader: WordReader
) -> SiameseConfiguration:
    learnt = len(words.counts) + UNKNOWN_WORD + 1
    common = (
        train.label_names,
        learnt,
        len(reader) - learnt,
        settings.vector_width if words.vectors is None else words.vectors.width,
        len(columns),
    )
    if isinstance(settings, WordOverlapSpec):
        return SiameseConfiguration(*common, "overlap", None, 0, 0.0)
    if isinstance(settings, SiameseBagSpec):
        return SiameseConfiguration(
            *common, "bag", settings.projection, settings.hidden, settings.dropout, pooling=settings.pooling
        )
    return SiameseConfiguration(
        *common, "lstm", settings.width, settings.hidden, settings.dropout, layers=settings.layers
    )
