"""Measures of answers, such as length or markup. A rule picks the answer with the largest or the smallest value of a
measure.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.diagnostics.properties.artefacts import Reason, reason_of
from aflite_assets.scan.blind.answers import BlindAnswers
from aflite_assets.scan.blind.numbers import number_measures
from aflite_assets.scan.blind.records import OVERLAP
from aflite_assets.scan.properties.tokens import Tokens, common_words, tokens_of
from aflite_assets.scan.properties.words import GROUPS

_MARKUP = re.compile(
    r"\*\*|__|`+|^#{1,6} |^[ \t]*(?:[-*\u2022]|\d+[.)]) |\|[^|\n]+\||</?[A-Za-z][^<>]{0,200}>", re.MULTILINE
)
"""Bold text, code, headings, list markers, table cells and tags."""

# fmt: off
HEDGES = GROUPS["vague word"] | frozenset([
    "about", "apparently", "appears", "approximately", "could", "depends", "generally", "likely", "possibly",
    "roughly", "seem", "seems", "tend", "tends", "typically", "uncertain", "unclear", "unlikely",
])
# fmt: on
"""English words that express uncertainty."""

_NOT = r"(?:can(?:'|\u2019)t|cannot|can not|won(?:'|\u2019)t|will not|don(?:'|\u2019)t|do not)"
_REFUSALS = re.compile(
    rf"\b(?:i(?:'|\u2019)?m sorry|i am sorry|i apologi[sz]e|i {_NOT} (?:help|assist|answer|provide|know|have|do|comment"
    r"|want|think)|as an ai|unable to|not able to|not comfortable|no comment)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Measure:
    """A number per answer, float64 of shape (answers,), and the names of the rules that use the number.

    `most`, `least`: names of the rules that pick the largest and the smallest value; "" if there is no rule for the
    largest or the smallest value.
    """

    most: str
    least: str
    kind: str
    values: np.ndarray

    @property
    def reason(self) -> Reason | None:
        """Reason why the measure cannot be part of the task, or None if the measure may be part of the task."""
        return reason_of(self.kind)


def measures_of(answers: BlindAnswers, asked: Sequence[str], given: Sequence[str]) -> list[Measure]:
    """Return the measures of the answers.

    `asked`, `given`: for each answer, the text of the question and the text of the answer.
    """
    known: dict[str, int] = {}
    question, answer = tokens_of(asked, known), tokens_of(given, known)
    negations = _in_group(answer, GROUPS["negation"])
    found = [
        Measure("the longest answer", "the shortest answer", "length", _counted(given, len)),
        Measure("the most markup", "the least markup", "typography", _counted(given, _markup)),
        Measure("the most blanks at its ends", "the fewest blanks at its ends", "blanks", _counted(given, _blanks)),
        Measure("the most digits", "the fewest digits", "signs", _counted(given, _digits)),
        Measure("the most hedging words", "the fewest hedging words", "word group", _in_group(answer, HEDGES)),
        Measure("the most refusals", "the fewest refusals", "word group", _counted(given, _refusals)),
        Measure("the most negations", "the fewest negations", "word group", negations),
        Measure(
            "the most words of the question",
            "the fewest words of the question",
            OVERLAP,
            common_words(question, answer).astype(np.float64),
        ),
    ]
    if answers.listed:
        places = np.arange(len(given), dtype=np.float64)
        found.append(Measure("the last answer", "the first answer", "position", places))
    if np.bincount(answers.questions).max() > 2:
        found.append(Measure("the odd one out", "the most typical answer", "words", oddness(answer, answers.questions)))
    found += [Measure(most, least, "number", one) for most, least, one in number_measures(given, answers.questions)]
    return found


def _counted(texts: Sequence[str], count: Callable[[str], int]) -> np.ndarray:
    return np.fromiter(map(count, texts), dtype=np.float64, count=len(texts))


def _markup(text: str) -> int:
    return sum(1 for _ in _MARKUP.finditer(text))


def _digits(text: str) -> int:
    return sum(map(str.isdigit, text))


def _blanks(text: str) -> int:
    return len(text) - len(text.strip())


def _refusals(text: str) -> int:
    return sum(1 for _ in _REFUSALS.finditer(text))


def _in_group(tokens: Tokens, words: frozenset[str]) -> np.ndarray:
    inside = np.array([word in words for word in tokens.vocabulary], dtype=bool)
    return np.bincount(tokens.rows, inside[tokens.words], minlength=tokens.texts).astype(np.float64)


def oddness(tokens: Tokens, questions: np.ndarray) -> np.ndarray:
    """Return the distance of each answer's words from the mean of the other answers to the same question, float64.

    The distance is 1 minus the cosine similarity of two word vectors, whose entries are weighted by inverse document
    frequency.
    """
    from scipy.sparse import csr_array

    rows, words = tokens.distinct()
    rarity = np.log((1 + tokens.texts) / (1 + np.bincount(words, minlength=len(tokens.vocabulary)))) + 1
    weights = rarity[words]
    length = np.sqrt(np.bincount(rows, weights**2, minlength=tokens.texts))
    shape = (tokens.texts, max(len(tokens.vocabulary), 1))
    matrix = csr_array((weights / length[rows], (rows, words)), shape=shape)
    ones = np.ones(tokens.texts)
    sums = csr_array((ones, (questions, np.arange(tokens.texts)))) @ matrix
    others = sums[questions] - matrix
    norms = np.sqrt(np.asarray(others.multiply(others).sum(axis=1)).ravel())
    common = np.asarray(matrix.multiply(others).sum(axis=1)).ravel()
    return np.round(1 - np.divide(common, norms, out=np.zeros_like(common), where=norms > 0), 9)
