"""Small models that read only surface properties or words of the answers, and never read the question."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from aflite_assets.diagnostics.data_checks.partial_input import StrongTerm, held_out_probabilities, strongest_terms
from aflite_assets.scan.blind.answers import BlindAnswers
from aflite_assets.scan.blind.measures import Measure
from aflite_assets.scan.blind.records import BEGINNING, FIRST_SENTENCE, WORDS
from aflite_assets.scan.properties.records import Properties

FOLDS = 5
_PENALTY = 0.02
"""Weight of the ridge penalty, divided by the number of training rows."""

SURFACE_KINDS = frozenset({"typography", "blanks", "signs", "word group", "length"})
"""Kinds of properties that count as surface properties of an answer: neither words nor beginnings or ends."""

_FEWEST = 20
"""Minimum number of answers with a property, and of answers without the property."""

_SENTENCE = re.compile(r"\s*(.+?[.!?\u2026\u3002](?=\s|$)|[^\n]+)")
_WORD = re.compile(r"\S+")
BEGINNING_WORDS = 3
"""Number of words in the beginning of an answer."""

_MOST_CHARACTERS = 2_000


def read_parts(given: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return the texts that each kind of word model reads: whole answers, first sentences, or beginnings.

    First sentences are left out if most answers have only one sentence. Beginnings are left out if most answers are no
    longer than `BEGINNING_WORDS` words.
    """
    parts = {
        FIRST_SENTENCE: [_first_sentence(text[:_MOST_CHARACTERS]) for text in given],
        BEGINNING: [" ".join(_WORD.findall(text[:_MOST_CHARACTERS])[:BEGINNING_WORDS]) for text in given],
    }
    shorter = {
        kind: texts
        for kind, texts in parts.items()
        if 2 * sum(len(own) < len(" ".join(text.split())) for own, text in zip(texts, given, strict=True)) >= len(given)
    }
    return {WORDS: given, **shorter}


def _first_sentence(text: str) -> str:
    found = _SENTENCE.match(text)
    return "" if found is None else found[1]


def surface_features(answers: BlindAnswers, measures: Sequence[Measure], properties: Properties) -> np.ndarray:
    """Return the surface properties of the answers, float64 of shape (answers, properties).

    If models must not read the question, the caller leaves out the measures that compare answers with the question.

    Each number is replaced by its rank among all answers, to limit the effect of outliers.
    """
    from scipy.stats import rankdata

    rows = answers.positions
    flags = [
        number
        for number, info in enumerate(properties.flags.infos)
        if info.source == answers.name and info.kind in SURFACE_KINDS
    ]
    present = properties.flags.present[:, flags].tocsr()[rows].toarray().astype(np.float64)
    often = np.minimum(present.sum(axis=0), len(rows) - present.sum(axis=0)) >= _FEWEST
    numbers = [
        one.codes[rows].astype(np.float64)
        for one in properties.numbers
        if one.info.source == answers.name and one.info.kind in SURFACE_KINDS
    ]
    columns = [*numbers, *(one.values for one in measures if one.kind != "position")]
    ranked = [rankdata(column) / len(column) for column in columns if len(np.unique(column)) > 1]
    return np.column_stack([present[:, often], *ranked]) if ranked or often.any() else np.zeros((len(rows), 0))


def surface_scores(features: np.ndarray, answers: BlindAnswers, *, rng: np.random.Generator) -> np.ndarray | None:
    """Return a score per answer. The score is from a ridge classifier on `features` that was not trained on the
    answer's unit.

    Returns None if there are fewer than five units, or if no property varies.
    """
    _, units = np.unique(answers.units, return_inverse=True)
    if not features.shape[1] or units.max() + 1 < FOLDS:
        return None
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = rng.permutation(np.arange(int(units.max()) + 1) % FOLDS)[units]
    target = np.where(answers.right, 1.0, -1.0)
    scores = np.zeros(len(target))
    for fold in range(FOLDS):
        held_out = folds == fold
        model = make_pipeline(StandardScaler(), Ridge(alpha=_PENALTY * int((~held_out).sum())))
        scores[held_out] = model.fit(features[~held_out], target[~held_out]).predict(features[held_out])
    return scores


def word_scores(
    texts: Sequence[str], answers: BlindAnswers, *, draws: Sequence[np.random.Generator]
) -> list[np.ndarray]:
    """Return the probability that each answer is right, given its words, for each random assignment to folds. The
    probability is from a model that was not trained on the answer.

    All answers of one unit are in the same fold. Returns an empty list if there are fewer than five units, or no words.
    """
    _, units = np.unique(answers.units, return_inverse=True)
    return [] if units.max() + 1 < FOLDS else held_out_probabilities(texts, answers.right, units, draws=draws)


def telling_terms(
    texts: Sequence[str], answers: BlindAnswers, *, rng: np.random.Generator, most: int
) -> list[StrongTerm]:
    """Return the words with the largest weights in a word model.

    The function chooses the words on one part of the questions and counts them on another part.
    """
    _, units = np.unique(answers.units, return_inverse=True)
    return strongest_terms(texts, answers.right, units, rng=rng, most=most)
