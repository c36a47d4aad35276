"""Building, saving and loading of ESIM models, together with their readers, which convert texts to words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from aflite_assets.data.examples import Examples
from aflite_assets.models.esim.contextual_vectors import ENCODER_FOLDER, pretrained_vectors
from aflite_assets.models.esim.network import Esim, EsimConfiguration
from aflite_assets.models.family import BuiltModel
from aflite_assets.models.words.saved_networks import loading, read_configuration, saved_reader
from aflite_assets.models.words.word_inputs import PAIR
from aflite_assets.models.words.word_tables import LearntVectors, read_words
from aflite_assets.specs.models.settings import EsimSpec


def new_esim(settings: EsimSpec, train: Examples, log: Callable[[str], None]) -> BuiltModel:
    """Return a model with random weights from torch's global generator, and the reader that converts texts to words or
    word pieces.

    The vocabulary holds the most frequent words of the train texts. If the vocabulary has room left and there is a file
    of word vectors, further words from the start of the file are added. Words that are missing from the train texts can
    then have vectors too. A word without a vector in the file gets normally distributed numbers with the standard
    deviation of the file's vectors.

    Raises:
        DataError: the texts have no words, or the file of word vectors is unreadable or contains no word of the texts.
        ModelError: the contextual checkpoint cannot be loaded.
    """
    if settings.contextual is not None:
        vectors, pieces = pretrained_vectors(settings.contextual, revision=settings.revision)
        log(f"word vectors: {vectors.layers} layers of {settings.contextual}, {vectors.width} wide, mixed; not trained")
        return BuiltModel(Esim(_configuration(settings, train, vectors.width, None), vectors), pieces)
    texts = (text for column in PAIR for text in train.texts(column))
    words = read_words(texts, rows=len(train), file=settings.vectors, vocabulary=settings.vocabulary, log=log)
    reader = words.reader()
    table = LearntVectors(len(reader), settings.vector_width if words.vectors is None else words.vectors.width)
    if words.vectors is not None:
        table.table.weight.requires_grad_(settings.train_vectors)
        table.fill(reader, words.vectors)
    return BuiltModel(Esim(_configuration(settings, train, table.width, len(reader)), table), reader)


def saved_esim(folder: Path) -> BuiltModel:
    """Return the model that was saved in `folder`, and the reader that converts texts to words. No file outside the
    folder is read.

    Raises:
        ModelError: the folder does not contain a saved ESIM model.
    """
    with loading(folder, Esim):
        configuration = read_configuration(folder, Esim, EsimConfiguration)
        vectors: nn.Module
        reader: Any
        if configuration.words is None:
            vectors, reader = pretrained_vectors(str(folder / ENCODER_FOLDER), revision=None)
        else:
            vectors = LearntVectors(configuration.words, configuration.vector_width)
            reader = saved_reader(folder, configuration.words)
        model = Esim(configuration, vectors)
        model.load_weights(folder)
        return BuiltModel(model, reader)


def _configuration(settings: EsimSpec, train: Examples, vector_width: int, words: int | None) -> EsimConfiguration:
    return EsimConfiguration(train.label_names, vector_width, words, settings.width, settings.dropout)
