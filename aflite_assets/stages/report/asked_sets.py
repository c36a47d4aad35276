"""Test sets as evaluators are asked about them, by row or by question, and the cells tested on them.

The report and the checks of the grid are made of the same, so that they say the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.scores.questions import question_set
from aflite_assets.analysis.scores.ranks import is_ranked
from aflite_assets.data.questions import right_class
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import ChallengeSpec
from aflite_assets.specs.sources import MultipleChoiceSource
from aflite_assets.stages.report.by_question import choice_sets
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

    def cells(self, models: PublishedResult) -> tuple[Cell, ...]:
        """Every cell of the grid, with all that tables of `asked` need; `models` is the grid's result.

        Raises:
            DataError: predictions do not fit the rows.
        """
        ranked = [one for one in self.asked if one.adds_probabilities or is_ranked(self.label_names, one)]
        return read_cells(models, ranked=ranked, asked=self.answers, right=self.right)

    def cells_on_full(self, models: PublishedResult) -> tuple[Cell, ...]:
        """Those trained on full alone, with what their accuracy on `asked` needs: no ranks for top-5 accuracy.

        Raises:
            DataError: predictions do not fit the rows.
        """
        ranked = [one for one in self.asked if one.adds_probabilities]
        return read_cells(models, train_set="full", ranked=ranked, asked=self.answers, right=self.right)


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
