"""How well one text column alone predicts the label, with single rows held out and with whole texts held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.record_tables import text_codes

FOLDS = 5
MOST_ROWS = 5_000
_MOST_CHARACTERS = 2_000
_MOST_TERMS = 50_000
_MOST_WEIGHTS = 1_000_000
"""Terms x classes, which is what the solver keeps ten copies of."""


@dataclass(frozen=True)
class TextOnlyAccuracy:
    """Held-out accuracies in [0, 1] over `rows` rows, all of them or a sample.

    `random`: rows held out at random, so that other rows of the same text are trained on. `grouped`: all rows of a text
    held out together. `majority`: the largest class's share.
    """

    rows: int
    random: float
    grouped: float
    majority: float


def text_only_accuracy(
    train: Examples, column: Literal["text", "text_pair"], *, seed: int, most_rows: int = MOST_ROWS
) -> TextOnlyAccuracy | None:
    """Five-fold accuracy of logistic regression on TF-IDF weights of one column's words and word pairs.

    At most `most_rows` rows are used, drawn from `seed` in whole texts, and of each text the first 2,000 characters.
    It is the partial-input baseline of Poliak et al. (*SEM 2018), on single rows and on whole texts. Where one premise
    carries a hypothesis per label, the random folds come out below chance: the other rows have the other labels.

    Returns:
        None where there are fewer than five different texts, or no words.
    """
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(seed)
    codes = text_codes(train.table[column])
    rows = _whole_texts(codes - codes.min(initial=0), most_rows, rng)
    _, texts = np.unique(codes[rows], return_inverse=True)
    _, classes = np.unique(train.labels[rows], return_inverse=True)
    if texts.max(initial=-1) + 1 < FOLDS:
        return None
    matrix = _weights(train.table[column].take(rows).to_pylist(), int(classes.max()) + 1)
    if matrix is None:
        return None
    with threadpool_limits(limits=1, user_api="blas"):  # more only wait for each other on so few rows
        random = _accuracy(matrix, classes, _folds(len(rows), rng))
        grouped = _accuracy(matrix, classes, _folds(int(texts.max()) + 1, rng)[texts])
    return TextOnlyAccuracy(len(rows), random, grouped, float(np.bincount(classes).max() / len(rows)))


def _whole_texts(codes: np.ndarray, most_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of texts in random order until the next would be too many; none of a text that fills a fold."""
    counts = np.bincount(codes, minlength=1)
    order = rng.permutation(len(counts))
    order = order[counts[order] <= max(min(most_rows, len(codes)) // FOLDS, 1)]
    taken = np.zeros(len(counts), bool)
    taken[order[np.cumsum(counts[order]) <= most_rows]] = True
    return np.flatnonzero(taken[codes])


def _folds(count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(np.arange(count) % FOLDS)


def _weights(texts: Sequence[str | None], classes: int) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(
        ngram_range=(1, 2),
        sublinear_tf=True,
        token_pattern=r"(?u)\b\w+\b",
        max_features=min(_MOST_TERMS, max(_MOST_WEIGHTS // classes, 1)),
    )
    analyse = words.build_analyzer()
    beginnings = [(text or "")[:_MOST_CHARACTERS] for text in texts]
    return words.fit_transform(beginnings) if any(analyse(text) for text in beginnings) else None


def _accuracy(matrix: Any, classes: np.ndarray, folds: np.ndarray) -> float:
    right = sum(_right_in_fold(matrix, classes, folds == fold) for fold in range(FOLDS))
    return right / len(classes)


def _right_in_fold(matrix: Any, classes: np.ndarray, held_out: np.ndarray) -> int:
    from sklearn.linear_model import LogisticRegression

    known = np.unique(classes[~held_out])
    if len(known) < 2:
        return int((classes[held_out] == known[0]).sum())
    model = LogisticRegression(max_iter=1_000).fit(matrix[~held_out], classes[~held_out])
    return int((model.predict(matrix[held_out]) == classes[held_out]).sum())
