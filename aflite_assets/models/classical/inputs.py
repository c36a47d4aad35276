"""Matrices for scikit-learn models: features, pixels, or TF-IDF weights. The vocabulary and the TF-IDF weights are
learned from train rows only.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.models.family import MakeMatrix
from aflite_assets.models.image.inputs import decode_image, open_image
from aflite_assets.models.text.inputs import TextColumn, text_columns

_Fitted = TypeVar("_Fitted")

FALLBACK_SIZE = (32, 32)
"""Width and height, in pixels, to which images are resized unless all images have the same size."""


def fit_inputs(
    train: Examples,
    tests: Sequence[Examples],
    *,
    inputs: Sequence[TextColumn] | None,
    features: Sequence[int] | None = None,
) -> MakeMatrix:
    """Return a function that turns examples into a matrix of shape rows x width.

    Feature columns are used unchanged. If `features` is given, only the listed columns are used, in the listed order.

    Texts become TF-IDF weights of lower-cased words and word pairs with sublinear term frequencies. Each text column
    has its own vocabulary, learned from `train`. Images become RGB values in [0, 1]. If all images have the same size,
    the size is kept; otherwise all images are resized to 32 x 32. `tests` is used only to compare image sizes.

    Raises:
        DataError: a text column of the train rows contains no word, or an image cannot be decoded.
    """
    if train.modality == "features":
        chosen = slice(None) if features is None else list(features)
        return lambda examples: examples.features[:, chosen].astype(np.float64)
    if train.modality == "image":
        size = _common_size([train, *tests])
        return lambda examples: _pixels(examples, size)
    columns = text_columns(train, inputs)
    vectorizers = [_fit_words(train, column) for column in columns]
    return lambda examples: sparse.hstack(
        [words.transform(examples.texts(name)) for name, words in zip(columns, vectorizers, strict=True)], format="csr"
    )


def _fit_words(train: Examples, column: TextColumn) -> Any:
    words = TfidfVectorizer(
        ngram_range=(1, 2), min_df=1, sublinear_tf=True, token_pattern=r"(?u)\b\w+\b", dtype=np.float64
    )
    return fitted_words(words.fit, train, column, purpose="weigh")


def fitted_words(fit: Callable[[list[str]], _Fitted], train: Examples, column: TextColumn, *, purpose: str) -> _Fitted:
    """Return the result of a vectorizer's `fit` on the texts of a column. `purpose` is a phrase for error messages that
    explains why words are needed.

    Raises:
        DataError: the texts contain no word.
    """
    try:
        return fit(train.texts(column))
    except ValueError as error:
        raise DataError(
            f"the column `{column}` of {len(train)} train rows has no words to {purpose} ({error}); leave the column "
            "out of `inputs`, or check the source"
        ) from error


def _common_size(tables: Sequence[Examples]) -> tuple[int, int]:
    sizes = {open_image(table, position).size for table in tables for position in range(len(table))}
    return sizes.pop() if len(sizes) == 1 else FALLBACK_SIZE


def _pixels(examples: Examples, size: tuple[int, int]) -> np.ndarray:
    width, height = size
    pixels = np.empty((len(examples), height * width * 3), dtype=np.float64)
    for position, row in enumerate(pixels):
        row[:] = decode_image(examples, position, size=size).reshape(-1)
    pixels /= 255
    return pixels
