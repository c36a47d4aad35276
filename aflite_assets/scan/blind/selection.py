"""Selection of test questions in which measures of the answers mislead, or at least do not reveal the right answer."""

from collections.abc import Mapping, Sequence

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers, separate_questions, whole_questions
from aflite_assets.errors import DataError
from aflite_assets.scan.blind.answers import BlindAnswers
from aflite_assets.scan.blind.measures import measures_of
from aflite_assets.specs.chosen_questions import AnswerMeasure

RULES: Mapping[AnswerMeasure, str] = {
    "length": "the longest answer",
    "markup": "the most markup",
    "blanks": "the most blanks at its ends",
    "digits": "the most digits",
    "hedges": "the most hedging words",
    "refusals": "the most refusals",
    "negations": "the most negations",
    "overlap": "the most words of the question",
    "oddness": "the odd one out",
}
"""For each measure, by its name in a dataset file, the rule that picks the answer with the largest value."""

_LEAST: Mapping[str, AnswerMeasure] = {
    "the shortest answer": "length",
    "the least markup": "markup",
    "the fewest blanks at its ends": "blanks",
    "the fewest digits": "digits",
    "the fewest hedging words": "hedges",
    "the fewest refusals": "refusals",
    "the fewest negations": "negations",
    "the fewest words of the question": "overlap",
    "the most typical answer": "oddness",
}


def measures_of_rules(names: Sequence[str]) -> tuple[AnswerMeasure, ...]:
    """Return the measures that the given rules use, each measure once. Rules that cannot be used to select test sets
    have no measure.
    """
    by_rule = {**{rule: measure for measure, rule in RULES.items()}, **_LEAST}
    return tuple(dict.fromkeys(by_rule[name] for name in names if name in by_rule))


def chosen_questions(
    examples: Examples, *, balanced_by: Sequence[AnswerMeasure], against: Sequence[AnswerMeasure], seed: int
) -> np.ndarray:
    """Select whole questions by measures of their answers. Return the positions of the selected rows, int64, ascending.

    Args:
        examples: answers to questions; questions without a right and a wrong answer are left out.
        balanced_by: measures to balance. The pattern of a question is the set of measures for which its right answers
            have the larger value. The function keeps as many questions of a pattern as of the opposite pattern, and all
            questions in which no measure differs.
        against: measures that must be smaller for every right answer than for every wrong answer.
        seed: seed for the random choice of questions.

    Raises:
        DataError: the rows are not answers to questions, or no question is left.
    """
    right = right_answers(examples, partly=separate_questions(examples) is not None)
    if right is None or examples.questions is None or "text_pair" not in examples.table.column_names:
        raise DataError(
            "`balanced_by` and `against` are for answers to questions, but these rows are not answers to questions; "
            "leave both settings out, or set `source.format` to `preference` or `multiple_choice`"
        )
    places = np.flatnonzero(whole_questions(right, examples.questions))
    _, questions = np.unique(examples.questions[places], return_inverse=True)
    values = _values(examples, places, questions, [*balanced_by, *against])
    kept = np.ones(int(questions.max(initial=-1)) + 1, dtype=bool)
    for name in against:
        kept &= _all_less(values[name], right[places], questions)
    if balanced_by:
        signs = np.column_stack([_signs(values[name], right[places], questions) for name in balanced_by])
        kept[kept] = _balanced(signs[kept], np.random.default_rng([seed, 5]))
    if not kept.any():
        raise DataError(
            f"none of {len(kept)} questions meets both `balanced_by` {list(balanced_by)} and `against` "
            f"{list(against)}; name fewer measures in these settings, or provide more questions"
        )
    return np.asarray(places[kept[questions]])


def _values(
    examples: Examples, places: np.ndarray, questions: np.ndarray, names: Sequence[AnswerMeasure]
) -> dict[AnswerMeasure, np.ndarray]:
    answers = BlindAnswers(
        positions=places,
        right=np.zeros(len(places), dtype=bool),  # no measure depends on `right`
        questions=questions,
        units=questions,
        subsets=(),
        name="text_pair",
        listed=False,
    )
    asked, given = (
        [text or "" for text in examples.table[column].take(places).to_pylist()] for column in ("text", "text_pair")
    )
    found = {one.most: one.values for one in measures_of(answers, asked, given)}
    if "oddness" in names and RULES["oddness"] not in found:
        raise DataError(
            "`balanced_by` or `against` contains 'oddness', which needs a question with at least three answers, but "
            "all have two; leave 'oddness' out"
        )
    return {name: found[RULES[name]] for name in names}


def _all_less(values: np.ndarray, right: np.ndarray, questions: np.ndarray) -> np.ndarray:
    """Return a bool per question, True if every right answer has a smaller value than every wrong answer."""
    count = int(questions.max(initial=-1)) + 1
    most, least = np.full(count, -np.inf), np.full(count, np.inf)
    np.maximum.at(most, questions[right], values[right])
    np.minimum.at(least, questions[~right], values[~right])
    return np.asarray(most < least)


def _signs(values: np.ndarray, right: np.ndarray, questions: np.ndarray) -> np.ndarray:
    """Return the sign of the mean of right answers minus the mean of wrong answers, float64 of shape (questions,)."""
    totals = [np.bincount(questions, values * of) / np.bincount(questions, of) for of in (right, ~right)]
    return np.sign(np.round(totals[0] - totals[1], 9))


def _balanced(signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a bool mask of questions in which each pattern of signs is as frequent as the opposite pattern."""
    kept = np.zeros(len(signs), dtype=bool)
    for one in np.unique(signs, axis=0):
        same, opposite = (signs == one).all(axis=1), (signs == -one).all(axis=1)
        count = min(int(same.sum()), int(opposite.sum()))
        kept[rng.permutation(np.flatnonzero(same))[:count]] = True
    return kept
