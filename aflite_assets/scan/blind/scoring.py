"""Tests whether rules and models are better than chance, for every rule and model in every subset of the questions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aflite_assets.data.questions import credit_by_question, guessing_credit
from aflite_assets.diagnostics.data_checks.partial_input import StrongTerm
from aflite_assets.diagnostics.properties.artefacts import Reason
from aflite_assets.p_values import holm
from aflite_assets.scan.blind.answers import BlindAnswers, blind_answers
from aflite_assets.scan.blind.exact import effective_count, exact_interval, exact_p_value
from aflite_assets.scan.blind.meanings import NAMES
from aflite_assets.scan.blind.measures import Measure, measures_of
from aflite_assets.scan.blind.models import read_parts, surface_features, surface_scores, telling_terms, word_scores
from aflite_assets.scan.blind.records import ALL_SUBSETS, OVERLAP, SURFACE, BlindExample, BlindRule, BlindScores
from aflite_assets.scan.properties.extraction import Extracted
from aflite_assets.scan.rows import ScanRows
from aflite_assets.text import one_line
from aflite_assets.wording import truncate

FEWEST_QUESTIONS = 30
"""Minimum number of questions in the data, and in each subset that is scored separately."""

MOST_SUBSETS = 50
"""Maximum number of subsets that are scored; the largest subsets are chosen."""

REPEATS = 3
"""Number of random assignments to folds; a model's results are averaged over these assignments."""

MOST_TERMS, MOST_EXAMPLES = 10, 5
"""Maximum number of words shown for a model, and of example questions shown for a rule."""

_MOST_CHARACTERS = 160


@dataclass(frozen=True, eq=False)
class _Rule:
    """A rule that was not yet tested against chance.

    `credit`: float64 of shape (questions,), mean over repeats. `decided`: bool per question, True if the rule picks
    only some of the answers.
    """

    name: str
    kind: str
    reason: Reason | None
    credit: np.ndarray
    decided: np.ndarray
    auc: float | None = None


def blind_scores(rows: ScanRows, extracted: Extracted, *, seed: int, with_models: bool = True) -> BlindScores | None:
    """Score rules and models that pick answers. Most rules and models do not read the question.

    Args:
        rows: the rows of all sets; only rows of the first set are scored.
        extracted: the properties of the rows, and the unit of each row.
        seed: seed for the folds of the models.
        with_models: whether small models are tested too, which takes most of the time.

    Returns:
        The scores of rules and models, or None unless the rows answer at least `FEWEST_QUESTIONS` independent
        questions.
    """
    answers = blind_answers(rows, extracted.units)
    if answers is None or len(np.unique(answers.question_units)) < FEWEST_QUESTIONS:
        return None
    chance = guessing_credit(answers.right, answers.questions)
    asked, given = ([texts[row] or "" for row in answers.positions.tolist()] for texts in rows.texts.values())
    measures = measures_of(answers, asked, given)
    rules = list(_rules(answers, measures))
    if with_models:
        rules += _models(answers, measures, given, extracted, seed)
    tested = [
        _tested(rule, name, chosen, chance, answers.question_units)
        for name, chosen in _subsets(answers).items()
        for rule in rules
    ]
    adjusted = holm([one.p_value for one in tested])
    found = [replace(one, p_value=p) for one, p in zip(tested, adjusted, strict=True)]
    ordered = sorted(found, key=lambda one: (one.subset != ALL_SUBSETS, one.chance - one.found))
    scores = BlindScores(answers.count, float(chance.mean()), tuple(ordered))
    terms = _terms(scores.read_from, given, answers, np.random.default_rng([seed, 6]))
    return replace(scores, terms=terms, examples=_examples(scores.shown, rules, answers, asked, given, seed=seed))


def _terms(
    model: BlindRule | None, given: Sequence[str], answers: BlindAnswers, rng: np.random.Generator
) -> tuple[StrongTerm, ...]:
    if model is None:
        return ()
    return tuple(telling_terms(read_parts(given)[model.kind], answers, rng=rng, most=MOST_TERMS))


def _examples(
    shown: BlindRule | None,
    rules: Sequence[_Rule],
    answers: BlindAnswers,
    asked: Sequence[str],
    given: Sequence[str],
    *,
    seed: int,
) -> tuple[BlindExample, ...]:
    """Draw questions that a rule answers correctly, each with the first right and the first wrong answer."""
    rule = next((one for one in rules if shown is not None and one.name == shown.name), None)
    if rule is None:
        return ()
    solved = np.flatnonzero(rule.decided & (rule.credit == 1))
    drawn = np.sort(np.random.default_rng([seed, 7]).permutation(solved)[:MOST_EXAMPLES])
    found = []
    for question in drawn.tolist():
        own = np.flatnonzero(answers.questions == question)
        right, wrong = (int(own[answers.right[own] == side][0]) for side in (True, False))
        found.append(BlindExample(*(truncate(one_line(text), _MOST_CHARACTERS)
                                    for text in (asked[right], given[right], given[wrong]))))  # fmt: skip
    return tuple(found)


def _subsets(answers: BlindAnswers) -> dict[str, np.ndarray]:
    """Return a mask of the questions of each subset, bool; the first mask covers all questions."""
    values = np.array([value or "" for value in answers.subsets], dtype=object)
    names, counts = np.unique(values.astype(str), return_counts=True)
    large = [name for name in names[np.argsort(-counts, kind="stable")].tolist() if name][:MOST_SUBSETS]
    parts = {name: values == name for name in large if (values == name).sum() >= FEWEST_QUESTIONS}
    everything = {ALL_SUBSETS: np.ones(answers.count, dtype=bool)}
    return everything if len(names) < 2 else everything | parts


def _rules(answers: BlindAnswers, measures: Sequence[Measure]) -> Iterator[_Rule]:
    for one in measures:
        for name, scores in ((one.most, one.values), (one.least, -one.values)):
            credit, decided = _picked(scores, answers)
            yield _Rule(name, one.kind, one.reason, credit, decided)


def _models(
    answers: BlindAnswers, measures: Sequence[Measure], given: Sequence[str], extracted: Extracted, seed: int
) -> Iterator[_Rule]:
    alone = [one for one in measures if one.kind != OVERLAP]
    features = surface_features(answers, alone, extracted.properties)
    draws = [np.random.default_rng([seed, 3, repeat]) for repeat in range(REPEATS)]
    surface = [surface_scores(features, answers, rng=rng) for rng in draws]
    yield from _model(SURFACE, [one for one in surface if one is not None], answers)
    for kind, texts in read_parts(given).items():
        yield from _model(kind, word_scores(texts, answers, draws=draws), answers)


def _picked(scores: np.ndarray, answers: BlindAnswers) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays: the credit per question, and for each question whether the rule picks only some of the
    answers.
    """
    highest = np.full(answers.count, -np.inf)
    np.maximum.at(highest, answers.questions, scores)
    lower = np.bincount(answers.questions, scores < highest[answers.questions], minlength=answers.count)
    return credit_by_question(scores, answers.right, answers.questions), lower > 0


def _model(kind: str, scores: Sequence[np.ndarray], answers: BlindAnswers) -> Iterator[_Rule]:
    """Yield the model as a rule. Yield nothing if the scores are missing for every random assignment to folds."""
    if not scores:
        return
    from sklearn.metrics import roc_auc_score

    picked = [_picked(one, answers) for one in scores]
    credit = np.mean([one for one, _ in picked], axis=0)
    decided = np.any([one for _, one in picked], axis=0)
    auc = float(np.mean([roc_auc_score(answers.right, one) for one in scores]))
    yield _Rule(NAMES[kind], kind, None, credit, decided, auc)


def _tested(rule: _Rule, subset: str, chosen: np.ndarray, chance: np.ndarray, units: np.ndarray) -> BlindRule:
    """Test a rule on the chosen questions.

    The p-value leaves out questions in which the rule picks all answers.
    """
    credit, decided = rule.credit[chosen], chosen & rule.decided
    found = float(credit.mean())
    low, high = exact_interval(found, effective_count(credit, units[chosen]))
    p_value = 1.0
    if decided.any():
        own = rule.credit[decided]
        p_value = exact_p_value(float(own.mean()), effective_count(own, units[decided]), float(chance[decided].mean()))
    return BlindRule(
        subset=subset,
        name=rule.name,
        kind=rule.kind,
        reason=rule.reason,
        questions=int(chosen.sum()),
        found=found,
        low=low,
        high=high,
        chance=float(chance[chosen].mean()),
        decided=float(rule.decided[chosen].mean()),
        p_value=p_value,
        auc=rule.auc if subset == ALL_SUBSETS else None,
    )
