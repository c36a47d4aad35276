"""Accuracy of one text column alone, with single rows held out and with whole texts held out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import guessing_credit, right_answers
from aflite_assets.diagnostics.record_tables import text_codes

FOLDS = 5
MOST_ROWS = 5_000
_MOST_CHARACTERS = 2_000
_MOST_TERMS = 50_000
_MOST_WEIGHTS = 1_000_000
"""Largest number of terms x classes; the solver keeps ten arrays of this size."""


@dataclass(frozen=True)
class TextOnlyAccuracy:
    """Held-out accuracies in [0, 1] over `rows` rows, which are all rows or a sample.

    `random`: accuracy with rows held out at random, so that other rows of the same text are trained on. `grouped`:
    accuracy with all rows of a text held out together. `majority`: the largest class's share.
    """

    rows: int
    random: float
    grouped: float
    majority: float


@dataclass(frozen=True, eq=False)
class HeldOutRight:
    """Sampled `rows` (positions), and which of them one text alone predicts right with whole texts held out, bool.

    `majority`: the accuracy without any text, in [0, 1]: the largest class's share of the rows.
    """

    rows: np.ndarray
    right: np.ndarray
    majority: float


@dataclass(frozen=True)
class _Sample:
    """Rows (positions) drawn in whole texts, with the text and class of each from 0, and the weights of their words."""

    rows: np.ndarray
    texts: np.ndarray
    classes: np.ndarray
    matrix: Any

    @property
    def majority(self) -> float:
        return float(np.bincount(self.classes).max() / len(self.rows))

    def text_folds(self, rng: np.random.Generator) -> np.ndarray:
        """Return a fold per row; all rows of a text get the same fold."""
        return _folds(int(self.texts.max()) + 1, rng)[self.texts]


def text_only_accuracy(
    train: Examples, column: Literal["text", "text_pair"], *, seed: int, most_rows: int = MOST_ROWS
) -> TextOnlyAccuracy | None:
    """Return the five-fold accuracy of logistic regression on TF-IDF weights of one column's words and word pairs.

    At most `most_rows` rows are used, drawn from `seed` in whole texts; only the first 2,000 characters of each text
    are used. The accuracy is that of the partial-input baseline of Poliak et al. (*SEM 2018), with single rows and with
    whole texts held out. If one premise has a hypothesis per label, the accuracy with random folds is below chance,
    because the other rows of the premise have the other labels.

    Returns:
        None if there are fewer than five different texts, or no words.
    """
    rng = np.random.default_rng(seed)
    sample = _sample(train, column, most_rows, rng)
    if sample is None:
        return None
    random = float(_right(sample, _folds(len(sample.rows), rng)).mean())
    grouped = float(_right(sample, sample.text_folds(rng)).mean())
    return TextOnlyAccuracy(len(sample.rows), random, grouped, sample.majority)


def held_out_right(
    train: Examples, column: Literal["text", "text_pair"], *, seed: int, most_rows: int = MOST_ROWS
) -> HeldOutRight | None:
    """Return which rows the same model predicts right, with whole texts held out; None as in `text_only_accuracy`."""
    rng = np.random.default_rng(seed)
    sample = _sample(train, column, most_rows, rng)
    if sample is None:
        return None
    return HeldOutRight(sample.rows, _right(sample, sample.text_folds(rng)), sample.majority)


def held_out_solved(train: Examples, *, seed: int, most_rows: int = MOST_ROWS) -> HeldOutRight | None:
    """Return which multiple-choice questions the same model solves by the answers alone, with whole questions held out.

    A question is solved if a right answer is the one that is most likely to be right. `right` says for each row whether
    its question was solved. `majority` is the accuracy of guessing: the share of right answers among all answers.

    Returns:
        None if the rows are not multiple choice, or there are fewer than five questions or no words.
    """
    correct = right_answers(train)
    if correct is None or train.questions is None or train.groups is None:
        return None
    rng = np.random.default_rng(seed)
    _, questions = np.unique(train.questions, return_inverse=True)
    rows = _whole_texts(questions, most_rows, rng)
    _, asked = np.unique(questions[rows], return_inverse=True)
    if asked.max(initial=-1) + 1 < FOLDS:
        return None
    texts = train.table["text_pair"].take(rows).to_pylist()
    found = held_out_probabilities(texts, correct[rows], asked, draws=[rng])
    if not found:
        return None
    (probability,) = found
    order = np.lexsort((rng.permutation(len(rows)), probability, asked))  # of equal answers none is preferred
    likeliest = order[np.append(np.diff(asked[order]) > 0, True)]
    solved = correct[rows][likeliest]
    guessing = float(guessing_credit(correct[rows], asked).mean())
    return HeldOutRight(rows, solved[asked], guessing)


def held_out_probabilities(
    texts: Sequence[str | None], right: np.ndarray, units: np.ndarray, *, draws: Sequence[np.random.Generator]
) -> list[np.ndarray]:
    """Return the probability, by its words alone, that each text is right: float64, with whole units held out.

    The model is the one of `text_only_accuracy`. `right`: bool; `units`: int64 from 0, at least five. Returns one array
    per draw of folds (`draws`), or an empty list if the texts have no words.
    """
    matrix = _weights(texts, 2)
    if matrix is None:
        return []
    sample = _Sample(np.arange(len(right)), units, right.astype(np.int64), matrix)
    return [_held_out(sample, sample.text_folds(rng), _probability_of_right) for rng in draws]


def _sample(train: Examples, column: str, most_rows: int, rng: np.random.Generator) -> _Sample | None:
    codes = text_codes(train.table[column])
    rows = _whole_texts(codes - codes.min(initial=0), most_rows, rng)
    _, texts = np.unique(codes[rows], return_inverse=True)
    _, classes = np.unique(train.labels[rows], return_inverse=True)
    if texts.max(initial=-1) + 1 < FOLDS:
        return None
    matrix = _weights(train.table[column].take(rows).to_pylist(), int(classes.max()) + 1)
    return None if matrix is None else _Sample(rows, texts, classes, matrix)


def _whole_texts(codes: np.ndarray, most_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of texts in random order until the next text would be too many; a text that fills a fold is left
    out.
    """
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


def _right(sample: _Sample, folds: np.ndarray) -> np.ndarray:
    """Return which rows a model trained on the other folds predicts right, bool."""
    predicted = _held_out(sample, folds, lambda model, rows: model.predict(rows))
    right: np.ndarray = sample.classes == predicted
    return right


def _probability_of_right(model: Any, rows: Any) -> np.ndarray:
    return np.asarray(model.predict_proba(rows)[:, -1])


def _held_out(sample: _Sample, folds: np.ndarray, predict: Callable[[Any, Any], np.ndarray]) -> np.ndarray:
    """Return the result of `predict` for each row with a model of the other folds; if these have one class, it is
    predicted.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    predicted = np.zeros(len(folds))
    with threadpool_limits(limits=1, user_api="blas"):  # more only wait for each other on so few rows
        for fold in range(FOLDS):
            held_out = folds == fold
            known = np.unique(sample.classes[~held_out])
            if len(known) < 2:
                predicted[held_out] = known[0]
            else:
                model = LogisticRegression(max_iter=1_000).fit(sample.matrix[~held_out], sample.classes[~held_out])
                predicted[held_out] = predict(model, sample.matrix[held_out])
    return predicted
