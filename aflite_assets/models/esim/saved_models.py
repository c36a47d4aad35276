"""Building, saving and loading of ESIM models, together with their readers, which convert texts to words."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.esim.contextual_vectors import ENCODER_FOLDER, pretrained_vectors
from aflite_assets.models.esim.network import Esim, EsimConfiguration
from aflite_assets.models.family import BuiltModel
from aflite_assets.models.weights_files import CONFIGURATION_FILE, LOADING_ERRORS, WEIGHTS_FILE, reading_problem
from aflite_assets.models.words.word_inputs import PAIR, WordReader
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
    try:
        configuration = _read_configuration(folder)
        weights = load_file(folder / WEIGHTS_FILE)
        if configuration.words is None:
            vectors, pieces = pretrained_vectors(str(folder / ENCODER_FOLDER), revision=None)
            return BuiltModel(_with_weights(Esim(configuration, vectors), weights, apart="vectors."), pieces)
        table = LearntVectors(configuration.words, configuration.vector_width)
        reader = WordReader.from_pretrained(folder)
        if len(reader) != configuration.words:
            raise ValueError(
                f"the model has vectors of {configuration.words} words, but its vocabulary has {len(reader)} words"
            )
        return BuiltModel(_with_weights(Esim(configuration, table), weights), reader)
    except LOADING_ERRORS as error:
        raise ModelError(
            f"the folder {folder} holds no readable esim model ({reading_problem(folder, error)}); "
            "materialise the asset `warmup_models` again"
        ) from error


def _configuration(settings: EsimSpec, train: Examples, vector_width: int, words: int | None) -> EsimConfiguration:
    return EsimConfiguration(train.label_names, vector_width, words, settings.width, settings.dropout)


def _read_configuration(folder: Path) -> EsimConfiguration:
    content: dict[str, Any] = json.loads((folder / CONFIGURATION_FILE).read_text(encoding="utf-8"))
    if content.pop("model_type") != "esim":
        raise ValueError(f"the file {CONFIGURATION_FILE} describes another kind of model")
    return EsimConfiguration(**content | {"label_names": tuple(content["label_names"])})


def _with_weights(model: Esim, weights: Mapping[str, torch.Tensor], *, apart: str | None = None) -> Esim:
    """Load the weights into the model and return the model. Weights with names that begin with `apart` are not loaded,
    because the model already has them.
    """
    report = model.load_state_dict(dict(weights), strict=False)
    missing = [name for name in report.missing_keys if apart is None or not name.startswith(apart)]
    if missing or report.unexpected_keys:
        raise ValueError(
            f"the file {WEIGHTS_FILE} lacks the entries {missing} and has the unknown entries {report.unexpected_keys}"
        )
    return model
