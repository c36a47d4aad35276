"""Which test sets are judged by question, from planted ones."""

from dataclasses import replace

import numpy as np
import pytest

from aflite_assets.analysis.inputs.records import FineTuned, TestSet
from aflite_assets.analysis.scores.questions import question_set
from aflite_assets.stages.shared.asked_sets import choice_sets, fine_tuned_note

NAMES = ("right", "wrong")
ANSWERS = TestSet(
    "plain",
    True,
    np.arange(40),
    np.asarray(np.arange(40) % 4 != 2, np.int64),
    NAMES,
    {},
    class_map=np.arange(2),
    groups=np.arange(40) // 4,
)


@pytest.mark.parametrize("class_map", [None, np.arange(2)])
def test_a_challenge_set_of_questions_is_judged_by_question(class_map: np.ndarray | None) -> None:
    answers = replace(ANSWERS, class_map=class_map)
    assert choice_sets([answers], NAMES) == [answers]
    asked = question_set(answers, 0)
    assert (len(asked.row_ids), asked.chance, asked.unit, asked.class_map) == (10, 0.25, "question", None)
    assert asked.row_ids.tolist() == list(range(2, 40, 4))


def test_other_classes_are_judged_by_row() -> None:
    assert choice_sets([replace(ANSWERS, class_map=np.array([1, 0]))], NAMES) == []
    assert choice_sets([replace(ANSWERS, label_names=("wrong", "right"))], NAMES) == []
    assert choice_sets([replace(ANSWERS, groups=None)], NAMES) == []


def test_a_set_says_for_whom_it_is_not_zero_shot() -> None:
    fine_tuned = {"x": FineTuned("p", ("odd",)), "y": FineTuned("p", ("even", "odd")), "z": FineTuned("p", ("even",))}
    assert fine_tuned_note("odd", fine_tuned) == (
        "Not zero-shot for evaluators fine-tuned on other rows of this set: x, y.",
    )
    assert fine_tuned_note("other", fine_tuned) == ()
