"""Max-PPMI features: for each class, the largest positive pointwise mutual information (PPMI) with a single word of a
text. The module `classical.families` has the model that uses these features.

Gururangan et al. 2018 ("Annotation Artifacts in Natural Language Inference Data", section 3) find annotation artifacts
by the pointwise mutual information of words and classes, with add-100 smoothing. Le Bras et al. 2020 ("Adversarial
Filters of Dataset Biases", section 4.2) use Max-PPMI as the only features of a baseline, without a further definition.
In this module, a row has one feature per class: the largest positive value among the row's words.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from aflite_assets.data.examples import Examples
from aflite_assets.models.classical.inputs import fitted_words
from aflite_assets.models.text.inputs import TextColumn, text_columns


def fit_word_information(
    train: Examples, *, inputs: Sequence[TextColumn] | None, smoothing: float, row_weights: np.ndarray | None = None
) -> Callable[[Examples], np.ndarray]:
    """Return a function that computes, for each row and class, the largest PPMI of the class and a word of the row. The
    function's result is float64, rows x classes.

    Words are lower-cased runs of letters, digits and underscores. A word that occurs in two columns counts as two
    words. If a row has no word in common with the train rows, all features of the row are zero. The classes are the
    classes of the train rows, in ascending order. `row_weights` (rows,): the weight of each train row, 1 by default.

    Raises:
        DataError: a text column of the train rows contains no word.
    """
    columns = text_columns(train, inputs)
    vocabularies = [CountVectorizer(token_pattern=r"(?u)\w+", binary=True, dtype=np.int64) for _ in columns]
    fitted = [
        fitted_words(words.fit_transform, train, name, purpose="count")
        for name, words in zip(columns, vocabularies, strict=True)
    ]
    train_words = sparse.hstack(fitted, format="csr")
    information = positive_information(word_counts(train_words, train.labels, row_weights), smoothing=smoothing)

    def words_of(examples: Examples) -> sparse.csr_matrix:
        if examples is train:
            return train_words
        counts = [words.transform(examples.texts(name)) for name, words in zip(columns, vocabularies, strict=True)]
        return sparse.hstack(counts, format="csr")

    return lambda examples: largest_information(words_of(examples), information)


def word_counts(words: sparse.csr_matrix, labels: np.ndarray, row_weights: np.ndarray | None = None) -> np.ndarray:
    """Sum the weights of the rows that contain a word, for each word and class. The result is float64, words x classes.

    `words`: rows x words, 1 if the row contains the word.
    """
    _, column = np.unique(labels, return_inverse=True)
    rows = np.arange(len(labels))
    memberships = sparse.csr_matrix((_weights(row_weights, len(labels)), (rows, column)))
    return np.asarray((words.T @ memberships).todense(), dtype=np.float64)


def _weights(row_weights: np.ndarray | None, rows: int) -> np.ndarray:
    return np.ones(rows) if row_weights is None else row_weights.astype(np.float64)


def positive_information(counts: np.ndarray, *, smoothing: float) -> np.ndarray:
    """Return the positive pointwise mutual information in nats, float64. `counts` and the result are words x classes.

    The value is max(0, log(p(word, class) / (p(word) p(class)))), with probabilities from the counts plus `smoothing`
    in every cell. Without smoothing, the value is zero if a word never occurs in a class. With smoothing, a word that
    never occurs in a class may have a positive value if the class has few words, because smoothing adds the same count
    to every cell.
    """
    table = counts + smoothing
    by_word, by_class = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    ratio = np.ones_like(table)
    np.divide(table * table.sum(), by_word * by_class, out=ratio, where=table > 0)
    return np.log(np.maximum(ratio, 1.0))


def largest_information(words: sparse.csr_matrix, information: np.ndarray) -> np.ndarray:
    """Return, for each row and class, the largest `information` (words x classes) among the row's words, or zero for a
    row without words. The result is float64, rows x classes.
    """
    largest = np.zeros((words.shape[0], information.shape[1]))
    filled = np.flatnonzero(np.diff(words.indptr))
    if len(filled):
        for column, values in enumerate(information.T):
            largest[filled, column] = np.maximum.reduceat(values[words.indices], words.indptr[filled])
    return largest
