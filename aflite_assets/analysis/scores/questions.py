"""Multiple choice scored by question: a question counts as correct if the model gives a correct answer the highest
probability.

Rows are correct or wrong answers. A test set of answers is converted to a test set of questions, and predictions of
answers to predictions of questions. After the conversion, `accuracy` and all tables count questions.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.scores.accuracy import CREDIT, required_predictions
from aflite_assets.data.questions import credit_by_question, guessing_credit, is_multiple_choice, whole_questions
from aflite_assets.errors import InvalidInputError

PICKED = "picked"
"""Column with the row id of the likeliest answer, or of the first of several likeliest answers; null without
probabilities.
"""


def answer_credit(probability: np.ndarray, right: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Score answers by question: return the credit of each question, float64 in [0, 1], ordered by group number.

    The credit is 1 if a correct answer alone has the highest probability of being correct, and 0 if only wrong answers
    have the highest probability. The credit is 1/n if n answers share the highest probability and one of them is
    correct. The mean credit is the expected accuracy if ties are broken at random. `probability` (rows,): the model's
    probability that each answer is correct; `right`: bool (rows,); `groups`: int64 (rows,), one number per question.
    Raises InvalidInputError if there is no row, a probability is not finite, or a group is not a question.
    """
    if not len(groups) or not np.isfinite(probability).all():
        raise InvalidInputError(
            f"there are {len(groups)} answers, and {int((~np.isfinite(probability)).sum())} probabilities are not "
            "finite; give at least one question and finite probabilities"
        )
    if not is_multiple_choice(right, groups):
        raise InvalidInputError("a question lacks a right or a wrong answer; choose rows with `whole_questions`")
    return credit_by_question(probability, right, groups)


def question_set(test_set: TestSet, right: int) -> TestSet:
    """Convert a test set of answers to a test set of questions. Each question is represented by the row of its correct
    answer.

    `right`: the class of correct answers. If several answers are correct, the row of the first correct answer is used.
    A question counts as kept if all its answers are kept, so that it can still be answered. Questions that lack a
    correct answer or a wrong answer are left out, and the set's notes state how many. Raises InvalidInputError if no
    question is left.
    """
    is_right, groups = test_set.labels == right, test_set.question_codes
    if groups is None or not (whole := whole_questions(is_right, groups)).any():
        raise InvalidInputError(
            f"no question of test set {test_set.name!r} has both a right and a wrong answer; correct the labels or "
            "remove the test set"
        )
    left_out = len(np.unique(groups)) - len(np.unique(groups[whole]))
    chosen = np.flatnonzero(whole & is_right)
    chosen = chosen[np.unique(groups[chosen], return_index=True)[1]]

    def all_answers(kept: np.ndarray) -> np.ndarray:
        return whole_questions(is_right, groups, kept)[chosen]

    note = f"Questions without a right answer or without a wrong one are left out: {left_out:,}."
    return replace(
        test_set,
        row_ids=test_set.row_ids[chosen],
        labels=test_set.labels[chosen],
        kept={name: all_answers(kept) for name, kept in test_set.kept.items()},
        own_kept={name: all_answers(kept) for name, kept in test_set.own_kept.items()},
        categories={name: values[chosen] for name, values in test_set.categories.items()},
        notes=(*test_set.notes, note) if left_out else test_set.notes,
        groups=None if test_set.questions is None or test_set.groups is None else test_set.groups[chosen],
        questions=None,
        class_map=None,  # a question has no class, only a correct answer
        unit="question",
        chance=float(guessing_credit(is_right[whole], groups[whole]).mean()),
    )


def question_predictions(cell: Cell, test_set: TestSet, right: int) -> pa.Table:
    """Convert a cell's predictions of a test set of answers to predictions of the set's questions.

    `test_set`: the test set of answers; `right`: the class of correct answers. The columns are `test_set`, `row_id` (of
    the correct answer), `predicted` (the class of the picked answer; 0 without probabilities), `CREDIT` and `PICKED`.
    Raises DataError if predictions and rows do not match, and InvalidInputError if there are no predictions.
    """
    table, asked = required_predictions(cell, test_set), question_set(test_set, right)
    probabilities, count = table["probabilities"].combine_chunks(), len(asked.row_ids)
    answered: dict[str, Any] = {
        "predicted": np.zeros(count, np.int64),
        CREDIT: pa.nulls(count, pa.float64()),
        PICKED: pa.nulls(count, pa.int64()),
    }
    if not probabilities.null_count:
        is_right, groups = test_set.labels == right, test_set.question_codes
        assert groups is not None  # question_set raises an error without groups
        probability = probabilities.flatten().to_numpy().reshape(len(probabilities), -1)[:, right]
        whole = np.flatnonzero(whole_questions(is_right, groups))
        # sorted by question, then by falling probability, then in the set's order
        ordered = whole[np.lexsort((whole, -probability[whole], groups[whole]))]
        firsts = ordered[np.unique(groups[ordered], return_index=True)[1]]
        credit = answer_credit(probability[whole], is_right[whole], groups[whole])
        answered = {"predicted": test_set.labels[firsts], CREDIT: credit, PICKED: test_set.row_ids[firsts]}
    names = pa.array([test_set.name] * count, pa.string())
    return pa.table({"test_set": names, "row_id": asked.row_ids, **answered})


def question_counts(data: BenchmarkData) -> dict[str, int]:
    """Count the questions of each split, or return an empty dict if rows are not answers."""
    row_ids, splits = data.examples.row_ids, data.examples.table["split"].to_numpy()
    counts = {split: questions_of(data, row_ids[splits == split]) for split in dict.fromkeys(splits.tolist())}
    return {split: count for split, count in counts.items() if count is not None}


def questions_of(data: BenchmarkData, row_ids: np.ndarray) -> int | None:
    """Count the questions that the given rows (int64 ids) answer, or return None if rows are not answers."""
    examples = data.examples
    if data.source.right is None or examples.questions is None:
        return None
    return len(np.unique(examples.questions[np.isin(examples.row_ids, row_ids)]))
