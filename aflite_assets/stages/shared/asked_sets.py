"""Test sets as evaluators are judged on them, by row or by question, and the cells tested on them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.scores.accuracy import is_ranked
from aflite_assets.analysis.scores.questions import question_set
from aflite_assets.data.questions import is_multiple_choice, right_class
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import ChallengeSpec
from aflite_assets.specs.sources import MultipleChoiceSource
from aflite_assets.stages.shared.label_mapping import is_identity
from aflite_assets.stages.shared.report_inputs import read_cells


@dataclass(frozen=True, eq=False)
class AskedSets:
    """Test sets by row, or by question if they are multiple choice (`asked`).

    `answers`: the multiple choice ones by row, i.e. by answer; `right`: their class of right answers; `label_names`: of
    the dataset.
    """

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
    """Return the test sets `by_row`, in their order, by question if they are multiple choice.

    `label_names`: of the dataset, whose source the manifest of `raw_dataset` names; `specs`: of its challenge sets.
    """
    declared = {name for name, spec in specs.items() if isinstance(spec.source, MultipleChoiceSource)}
    if raw_dataset.manifest["made_from"]["fields"]["source"]["format"] == "multiple_choice":
        declared |= {one.name for one in by_row if not one.challenge}
    answers, right = choice_sets(by_row, label_names, declared=declared), right_class(label_names) or 0
    asked = tuple(question_set(one, right) if one in answers else one for one in by_row)
    return AskedSets(asked, tuple(answers), right, label_names)


def choice_sets(
    test_sets: Sequence[TestSet], label_names: tuple[str, ...], *, declared: Collection[str] = ()
) -> list[TestSet]:
    """Return the test sets, by answer, whose groups are questions, in the dataset's own classes.

    Every group must be a question with one right answer; of the sets in `declared`, whose source is multiple choice,
    any group.
    """
    right = right_class(label_names)
    return [
        one
        for one in test_sets
        if right is not None
        and (one.class_map is None or is_identity(one.class_map, one.label_names, label_names))
        and is_multiple_choice(one.labels == right, one.groups, partly=one.name in declared)
    ]
