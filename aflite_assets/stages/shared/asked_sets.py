"""Test sets as evaluators are asked about them, by row or by question, and the cells tested on them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.scores.accuracy import is_ranked
from aflite_assets.analysis.scores.questions import question_set
from aflite_assets.data.questions import is_multiple_choice, right_class
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import ChallengeSpec
from aflite_assets.specs.sources import MultipleChoiceSource
from aflite_assets.stages.shared.report_inputs import read_cells


@dataclass(frozen=True, eq=False)
class AskedSets:
    """Test sets by row, and with multiple choice by question (`asked`, in the same order).

    `answers`: those of `by_row` that are multiple choice, of whose two classes `right` is that of right answers;
    `label_names`: of the dataset.
    """

    by_row: tuple[TestSet, ...]
    asked: tuple[TestSet, ...]
    answers: tuple[TestSet, ...]
    right: int
    label_names: tuple[str, ...]

    def cells(self, models: PublishedResult, *, ranks: bool = True) -> tuple[Cell, ...]:
        """Return every cell of the grid, whose result is `models`, with all that accuracy on `asked` needs.

        `ranks`: whether top-5 accuracy is to be known too.

        Raises:
            DataError: predictions do not fit the rows.
        """
        ranked = [one for one in self.asked if one.adds_probabilities or (ranks and is_ranked(self.label_names, one))]
        return read_cells(models, ranked=ranked, asked=self.answers, right=self.right)


def asked_sets(
    by_row: Sequence[TestSet],
    label_names: tuple[str, ...],
    raw_dataset: PublishedResult,
    specs: Mapping[str, ChallengeSpec],
) -> AskedSets:
    """The test sets `by_row`, asked by question where they are multiple choice.

    `label_names`: of the dataset, whose source the manifest of `raw_dataset` names; `specs`: of its challenge sets.
    """
    answers = choice_sets(by_row, label_names, declared=_declared(by_row, raw_dataset, specs))
    right = right_class(label_names) or 0
    asked = tuple(question_set(one, right) if one in answers else one for one in by_row)
    return AskedSets(tuple(by_row), asked, tuple(answers), right, label_names)


def _declared(by_row: Sequence[TestSet], raw_dataset: PublishedResult, specs: Mapping[str, ChallengeSpec]) -> set[str]:
    """The test sets whose source says that it is multiple choice."""
    own = raw_dataset.manifest["made_from"]["fields"]["source"]["format"] == "multiple_choice"
    natural = {one.name for one in by_row if not one.challenge} if own else set()
    return natural | {name for name, spec in specs.items() if isinstance(spec.source, MultipleChoiceSource)}


def choice_sets(
    test_sets: Sequence[TestSet], label_names: tuple[str, ...], *, declared: Collection[str] = ()
) -> list[TestSet]:
    """The test sets, by answer, whose groups are questions, in the dataset's own classes.

    Those are sets of which every group is a question with one right answer, and the sets in `declared`, whose source
    says that they are multiple choice, where any group is.
    """
    number = right_class(label_names)
    return [
        one
        for one in test_sets
        if number is not None
        and _in_own_classes(one, label_names)
        and is_multiple_choice(one.labels == number, one.groups, partly=one.name in declared)
    ]


def _in_own_classes(test_set: TestSet, label_names: tuple[str, ...]) -> bool:
    """Whether each class of the dataset counts as that of the same name and number, as of the dataset's own splits."""
    mapped = test_set.class_map
    return mapped is None or (
        test_set.label_names == label_names and np.array_equal(mapped, np.arange(len(label_names)))
    )
