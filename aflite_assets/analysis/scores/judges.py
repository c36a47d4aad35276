"""Evaluators that can judge a filter.

An evaluator can judge a filter if it learnt something and belongs to another model family than the filter's model.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.intervals import CrossedInterval, crossed_interval
from aflite_assets.analysis.rules.verdicts import FEWEST_GROUPS, FEWEST_ROWS, Shortfall, lacking
from aflite_assets.analysis.scores.accuracy import finished_rows
from aflite_assets.analysis.scores.subsets import headline_set
from aflite_assets.data.questions import is_multiple_choice, right_class

ONE_ANSWER = 0.95
"""The cautions name a model if it predicts the same class for at least this share of a test set."""


@dataclass(frozen=True)
class OverLargestClass:
    """Accuracy of an evaluator trained on `full` minus the accuracy of always predicting a test set's largest class, in
    points.

    The labels of questions do not vary, so for questions the baseline is guessing one of the answers. `largest`: the
    accuracy of the baseline, in [0, 1]. `lacks`: the quantity that is too small for a decision (`verdicts.lacking`), or
    None.
    """

    evaluator: str
    test_set: str
    largest: float
    margin: CrossedInterval
    questions: bool = False
    lacks: Shortfall | None = None

    @property
    def rival(self) -> str:
        """The baseline, described in words."""
        return "guessing an answer" if self.questions else "the largest class"

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the training runs, in [0, 1]."""
        return self.largest + self.margin.difference / 100

    @property
    def beaten(self) -> bool:
        """True if the whole interval is above the baseline."""
        return self.margin.low > 0

    @property
    def at_chance(self) -> bool:
        """True if the interval includes zero and is narrow enough for a decision (`too_few`)."""
        return self.lacks is None and self.margin.low <= 0 <= self.margin.high

    @property
    def too_few(self) -> str:
        """The unit that is too rare for a decision: "rows", "questions", "groups" or "seeds"; empty if there are
        enough.
        """
        what = "" if self.lacks is None else self.lacks.what
        return "questions" if self.questions and what == "rows" else what


@dataclass(frozen=True)
class OneAnswer:
    """An evaluator and a train set with a training run that predicts one class for nearly all rows of a natural test
    set.
    """

    evaluator: str
    train_set: str
    representation: str | None


def one_answer_names(found: Iterable[OneAnswer]) -> list[str]:
    """Describe the evaluators and their train sets in words."""
    filterings = ((one, f" ({one.representation})" if one.representation else "") for one in found)
    return [f"{one.evaluator} trained on {one.train_set}{filtering}" for one, filtering in filterings]


@dataclass(frozen=True)
class Judging:
    """The evaluators that judge filters, and evidence on whether each evaluator learnt anything.

    `judges`: evaluators that see whole inputs and learnt something. Evaluators of another model family than the
    filters' models come first. `margins`: margins over the largest class on the natural test set of the report's
    summary. `challenge_margins`: margins over the largest class on challenge sets. `one_answer`: evaluators that
    predict one class for nearly all rows. `made_of`: per evaluator, the representations of the same model family.
    """

    judges: tuple[str, ...]
    margins: tuple[OverLargestClass, ...]
    challenge_margins: tuple[OverLargestClass, ...]
    one_answer: tuple[OneAnswer, ...]
    made_of: Mapping[str, Sequence[str]]


def over_largest_class(cells: Sequence[Cell], test_sets: Sequence[TestSet]) -> dict[str, OverLargestClass]:
    """Return `margins_over_largest` on the natural test set of the report's summary, or an empty dict if there is no
    natural test set.
    """
    natural = headline_set(test_sets)
    return {} if natural is None else margins_over_largest(cells, natural)


def margins_over_largest(cells: Sequence[Cell], test_set: TestSet) -> dict[str, OverLargestClass]:
    """Return, per evaluator, the margin over the largest class of a test set, from its training runs on `full`.

    Evaluators without a finished training run on `full` are left out. Return an empty dict if there are fewer than 20
    rows or 10 groups. Return an empty dict for answers that are not scored by question, because the largest class is no
    useful baseline for answers.
    """
    if len(test_set.row_ids) < FEWEST_ROWS or _has_answers(test_set):
        return {}
    always, found = _always_the_largest(test_set), {}
    for name in dict.fromkeys(cell.evaluator for cell in cells):
        full = [cell for cell in cells if (cell.evaluator, cell.train_set) == (name, "full")]
        right = finished_rows(full, test_set)
        if right and (margin := _margin(right, test_set)).effective_groups >= FEWEST_GROUPS:
            lacks = lacking(right, [always] * len(right), test_set.groups)
            by_question = test_set.unit == "question"
            found[name] = OverLargestClass(name, test_set.name, float(always.mean()), margin, by_question, lacks)
    return found


def _margin(right: Sequence[np.ndarray], test_set: TestSet) -> CrossedInterval:
    return crossed_interval(right, [_always_the_largest(test_set)] * len(right), test_set.groups)


def _always_the_largest(test_set: TestSet) -> np.ndarray:
    """Return which rows the baseline predicts correctly; for questions, return the share of correct guesses."""
    if test_set.chance is not None:
        return np.full(len(test_set.row_ids), test_set.chance)
    return np.asarray(test_set.labels == np.bincount(test_set.labels).argmax())


def _has_answers(test_set: TestSet) -> bool:
    """Return True if rows are answers to questions (of which several may be correct), or if labels do not vary."""
    if test_set.unit == "question":
        return False
    right = right_class(test_set.label_names)
    by_answer = right is not None and is_multiple_choice(test_set.labels == right, test_set.question_codes)
    return by_answer or len(np.unique(test_set.labels)) < 2


def one_answers(trained: Sequence[Cell], test_sets: Sequence[TestSet]) -> tuple[OneAnswer, ...]:
    """Return the evaluators and train sets with a training run that predicts almost only one class on a natural test
    set.

    A training run that is significantly better than always predicting the largest class of the test set is left out.
    Test sets with fewer than 20 rows are skipped. Test sets in which nearly all rows have one class are skipped,
    because a good model may predict this class for nearly all rows.
    """
    natural = [one for one in test_sets if not one.challenge and len(one.row_ids) >= FEWEST_ROWS]
    varied = [one for one in natural if np.bincount(one.labels).max() / len(one.labels) < ONE_ANSWER]
    cells = [cell for cell in trained if any(_gives_one_answer(cell, one) for one in varied)]
    return tuple(dict.fromkeys(OneAnswer(cell.evaluator, cell.train_set, cell.representation) for cell in cells))


def _gives_one_answer(cell: Cell, test_set: TestSet) -> bool:
    if cell.predictions is None:
        return False
    answers = cell.predictions.filter(pc.equal(cell.predictions["test_set"], test_set.name))["predicted"].to_numpy()
    if not len(answers) or np.bincount(answers).max() < ONE_ANSWER * len(answers):
        return False
    right = finished_rows([cell], test_set)
    return not right or _margin(right, test_set).low <= 0


def same_kind(
    evaluators: Iterable[str], representations: Sequence[str], kinds: Mapping[str, str]
) -> dict[str, list[str]]:
    """Map each evaluator to the representations of the same kind.

    `kinds` is a mapping such as `BenchmarkData.families`.
    """
    related: dict[str, list[str]] = {}
    for name, representation in product(evaluators, representations):
        kind = kinds.get(f"evaluators.{name}")
        if kind and kinds.get(f"representations.{representation}") == kind:
            related.setdefault(name, []).append(representation)
    return related


@lru_cache(maxsize=1)
def judging(data: BenchmarkData) -> Judging:
    """Find the evaluators that can judge filters."""
    margins = over_largest_class(data.cells, data.test_sets)
    elsewhere = [margins_over_largest(data.cells, one) for one in data.test_sets if one.challenge]
    collapsed = one_answers(data.cells, data.test_sets)
    compared = {"full", "filtered", *(data.control(name) for name in data.representations)}
    made_of = same_kind(data.evaluators, data.representations, data.families)
    unfit = {name for name, margin in margins.items() if not margin.beaten}
    unfit |= {one.evaluator for one in collapsed if one.train_set in compared}
    fit = [name for name in data.judging_evaluators if name not in unfit]
    judges = tuple(sorted(fit, key=lambda name: name in made_of))
    challenge_margins = tuple(one for by_evaluator in elsewhere for one in by_evaluator.values())
    return Judging(judges, tuple(margins.values()), challenge_margins, collapsed, made_of)
