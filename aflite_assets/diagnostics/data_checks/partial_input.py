"""Accuracy of predicting the label from one text column, with random folds or with folds that keep equal texts
together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import guessing_credit, right_answers
from aflite_assets.diagnostics.record_tables import text_codes
from aflite_assets.processors import one_blas_thread

FOLDS = 5
MOST_ROWS = 5_000
_MOST_CHARACTERS = 2_000
_MOST_TERMS = 50_000
_MOST_WEIGHTS = 1_000_000
"""Largest product of the numbers of terms and classes; the solver allocates ten arrays of this size."""


@dataclass(frozen=True)
class TextOnlyAccuracy:
    """Cross-validated accuracies in [0, 1] over `rows` rows, which are all rows or a sample.

    `random`: accuracy with random folds, so the model may be trained on other rows with the same text. `grouped`:
    accuracy if all rows with the same text are in the same fold. `majority`: the largest class's share.
    """

    rows: int
    random: float
    grouped: float
    majority: float


@dataclass(frozen=True, eq=False)
class HeldOutRight:
    """Positions of sampled rows (`rows`), and whether one text column alone predicts each row's label (`right`).

    All rows with the same text are held out together. `majority`: the accuracy, in [0, 1], of a prediction without any
    text, which is the share of the largest class.
    """

    rows: np.ndarray
    right: np.ndarray
    majority: float


@dataclass(frozen=True)
class _Sample:
    """A sample of rows that contains all rows of each sampled text.

    `rows`: positions of the sampled rows. `texts` and `classes`: number of each row's text and class, from 0. `matrix`:
    TF-IDF weights, one line per row.
    """

    rows: np.ndarray
    texts: np.ndarray
    classes: np.ndarray
    matrix: Any

    @property
    def majority(self) -> float:
        return float(np.bincount(self.classes).max() / len(self.rows))

    def text_folds(self, rng: np.random.Generator) -> np.ndarray:
        """Return a fold for each row; all rows with the same text get the same fold."""
        return _folds(int(self.texts.max()) + 1, rng)[self.texts]


def text_only_accuracy(
    train: Examples, column: Literal["text", "text_pair"], *, seed: int, most_rows: int = MOST_ROWS
) -> TextOnlyAccuracy | None:
    """Return the five-fold accuracy of logistic regression on TF-IDF weights of one column's words and word pairs.

    At most `most_rows` rows are used, drawn with `seed`; all rows with the same text are drawn together. Only the first
    2,000 characters of each text are used. The model is a partial-input baseline as in Poliak et al. (*SEM 2018).

    With random folds, the accuracy of the premise alone is below chance if each premise has one hypothesis per label.
    With random folds, other rows of the premise, which have other labels, are among the training rows.

    Returns:
        The accuracies, or None if there are fewer than five different texts or no words.
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
    """Return the sampled rows, and which of them `text_only_accuracy`'s model predicts correctly with grouped folds.

    Return None if there are fewer than five different texts, or no words.
    """
    rng = np.random.default_rng(seed)
    sample = _sample(train, column, most_rows, rng)
    if sample is None:
        return None
    return HeldOutRight(sample.rows, _right(sample, sample.text_folds(rng)), sample.majority)


def held_out_solved(train: Examples, *, seed: int, most_rows: int = MOST_ROWS) -> HeldOutRight | None:
    """Return which multiple-choice questions the model of `text_only_accuracy` solves from the answer texts alone.

    All answers to a question are held out together. A question is solved if a right answer has the highest predicted
    probability of being right. In the result, `right` is True for rows whose question was solved, and `majority` is the
    accuracy of guessing.

    Returns:
        The solved questions of a sample. None if the rows are not multiple choice, or if there are fewer than five
        questions or no words.
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
    order = np.lexsort((rng.permutation(len(rows)), probability, asked))  # breaks ties at random
    likeliest = order[np.append(np.diff(asked[order]) > 0, True)]
    solved = correct[rows][likeliest]
    guessing = float(guessing_credit(correct[rows], asked).mean())
    return HeldOutRight(rows, solved[asked], guessing)


def held_out_probabilities(
    texts: Sequence[str | None], right: np.ndarray, units: np.ndarray, *, draws: Sequence[np.random.Generator]
) -> list[np.ndarray]:
    """Predict the probability that each answer text is right (float64) from models trained on other units.

    The model is logistic regression on TF-IDF weights of words and word pairs, as in `text_only_accuracy`. `right`:
    bool per text. `units`: the unit of each text, such as its question, numbered from 0 (int64). All texts of a unit
    are in one fold, and there are at least five units. Returns one array per draw of folds (`draws`), or an empty list
    if the texts have no words.
    """
    found = tfidf(texts, 2)
    if found is None:
        return []
    sample = _Sample(np.arange(len(right)), units, right.astype(np.int64), found[0])
    return [_held_out(sample, sample.text_folds(rng), _probability_of_right) for rng in draws]


@dataclass(frozen=True)
class StrongTerm:
    """A word or word pair with a large effect in the models, and the numbers of held-out texts that contain it.

    `tells_right`: True if models treat the term as a sign of a right answer. `right`, `wrong`: numbers of right and of
    wrong texts with the term. A text is counted only if the model that did not see the text chose the term.
    """

    term: str
    tells_right: bool
    right: int
    wrong: int


def strongest_terms(
    texts: Sequence[str | None], right: np.ndarray, units: np.ndarray, *, rng: np.random.Generator, most: int
) -> list[StrongTerm]:
    """Return the words and word pairs with the largest effect in the model of `held_out_probabilities`.

    In the model of a fold, the effect of a term is its coefficient times the standard deviation of its weight in the
    training units. The model of each fold chooses the terms with the largest effect. A chosen term is counted only in
    the fold held out from a model that chose the term. If several terms occur in nearly the same texts, only the
    strongest of these terms is kept.

    Args:
        texts: text of each answer.
        right: bool per answer, True if the answer is right.
        units: the unit of each answer, such as its question, int64 from 0. All answers of a unit are in one fold, and
            there are at least five units.
        rng: random generator that draws the folds.
        most: largest number of terms to return.

    Returns:
        The terms, the strongest first, or an empty list if the texts have no words.
    """
    found = tfidf(texts, 2)
    if found is None:
        return []
    matrix, names = found
    matrix, folds = matrix.tocsc(), _folds(int(units.max()) + 1, rng)[units]
    strengths = np.array([_strengths(matrix[folds != fold], right[folds != fold]) for fold in range(FOLDS)])
    chosen = np.zeros(strengths.shape, dtype=bool)
    for fold, own in enumerate(np.abs(strengths)):
        chosen[fold, np.argsort(-own, kind="stable")[: 3 * most]] = True
    total, often = strengths.sum(axis=0), chosen.sum(axis=0)
    order = np.lexsort((-np.abs(total), -often))[: int((often > 0).sum())]
    kept: dict[int, np.ndarray] = {}
    for term in order.tolist():
        present = matrix[:, [term]].toarray().ravel() > 0
        if all(2 * (present & other).sum() < (present | other).sum() for other in kept.values()):
            kept[term] = present
        if len(kept) == most:
            break
    counted = {term: present & chosen[folds, term] for term, present in kept.items()}
    return [
        StrongTerm(str(names[term]), bool(total[term] > 0), int((held & right).sum()), int((held & ~right).sum()))
        for term, held in counted.items()
    ]


def _strengths(weights: Any, right: np.ndarray) -> np.ndarray:
    """Return the effect of each term (float64): its coefficient times the standard deviation of its weight.

    If all texts have one class, every effect is 0.
    """
    if right.all() or not right.any():
        return np.zeros(weights.shape[1])
    mean = np.asarray(weights.mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(np.asarray(weights.multiply(weights).mean(axis=0)).ravel() - mean**2, 0))
    return np.asarray(_fitted(weights.tocsr(), right.astype(np.int64)).coef_[0] * spread)


def _fitted(weights: Any, classes: np.ndarray) -> Any:
    from sklearn.linear_model import LogisticRegression

    with one_blas_thread():
        return LogisticRegression(max_iter=1_000).fit(weights, classes)


def _sample(train: Examples, column: str, most_rows: int, rng: np.random.Generator) -> _Sample | None:
    codes = text_codes(train.table[column])
    rows = _whole_texts(codes - codes.min(initial=0), most_rows, rng)
    _, texts = np.unique(codes[rows], return_inverse=True)
    _, classes = np.unique(train.labels[rows], return_inverse=True)
    if texts.max(initial=-1) + 1 < FOLDS:
        return None
    found = tfidf(train.table[column].take(rows).to_pylist(), int(classes.max()) + 1)
    return None if found is None else _Sample(rows, texts, classes, found[0])


def _whole_texts(codes: np.ndarray, most_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Draw random texts with at most `most_rows` rows in total; each text is drawn with all of its rows.

    A text with more rows than a fold is left out.
    """
    counts = np.bincount(codes, minlength=1)
    order = rng.permutation(len(counts))
    order = order[counts[order] <= max(min(most_rows, len(codes)) // FOLDS, 1)]
    taken = np.zeros(len(counts), bool)
    taken[order[np.cumsum(counts[order]) <= most_rows]] = True
    return np.flatnonzero(taken[codes])


def _folds(count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(np.arange(count) % FOLDS)


def tfidf(texts: Sequence[str | None], classes: int, *, most_terms: int = _MOST_TERMS) -> tuple[Any, np.ndarray] | None:
    """Return the TF-IDF weights of words and word pairs, and the terms; return None if the texts have no words.

    With many `classes`, fewer than `most_terms` terms are used.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(
        ngram_range=(1, 2),
        sublinear_tf=True,
        token_pattern=r"(?u)\b\w+\b",
        max_features=min(most_terms, max(_MOST_WEIGHTS // classes, 1)),
    )
    analyse = words.build_analyzer()
    beginnings = [(text or "")[:_MOST_CHARACTERS] for text in texts]
    if not any(analyse(text) for text in beginnings):
        return None
    return words.fit_transform(beginnings), words.get_feature_names_out()


def _right(sample: _Sample, folds: np.ndarray) -> np.ndarray:
    """Return a bool per row: True if the model trained on every fold but the row's own predicts the row correctly."""
    predicted = _held_out(sample, folds, lambda model, rows: model.predict(rows))
    right: np.ndarray = sample.classes == predicted
    return right


def _probability_of_right(model: Any, rows: Any) -> np.ndarray:
    return np.asarray(model.predict_proba(rows)[:, -1])


def _held_out(sample: _Sample, folds: np.ndarray, predict: Callable[[Any, Any], np.ndarray]) -> np.ndarray:
    """Return the result of `predict` for each row, from a model trained on every fold but the row's own.

    If a model's training folds contain only one class, the model predicts this class.
    """
    predicted = np.zeros(len(folds))
    for fold in range(FOLDS):
        held_out = folds == fold
        known = np.unique(sample.classes[~held_out])
        if len(known) < 2:
            predicted[held_out] = known[0]
        else:
            model = _fitted(sample.matrix[~held_out], sample.classes[~held_out])
            predicted[held_out] = predict(model, sample.matrix[held_out])
    return predicted
