"""Test sets in the form used for scoring (per row or per question), and the trained evaluators' predictions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import Cell, FilteredSet, FineTuned, TestSet
from aflite_assets.analysis.scores.accuracy import is_ranked, with_ranks
from aflite_assets.analysis.scores.questions import question_predictions, question_set
from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import is_multiple_choice, right_class, separate_questions
from aflite_assets.errors import DataError
from aflite_assets.results import PublishedResult
from aflite_assets.specs.core import ChallengeSpec
from aflite_assets.specs.sources import CHOICE_FORMATS, ChoiceSource
from aflite_assets.stages.shared.label_mapping import class_map, is_identity
from aflite_assets.stages.shared.published import (
    ChallengeFacts,
    ControlSet,
    category_columns,
    read_challenge_sets,
    test_examples,
)

_PREDICTED = ["test_set", "row_id", "predicted"]


@dataclass(frozen=True, eq=False)
class AskedSets:
    """Test sets as they are scored: per row or, for multiple choice, per question (`asked`).

    `answers`: the multiple-choice test sets with one row per answer. `right`: the class number of right answers.
    `label_names`: names of the dataset's classes.
    """

    asked: tuple[TestSet, ...]
    answers: tuple[TestSet, ...]
    right: int
    label_names: tuple[str, ...]

    def cells(self, models: PublishedResult, *, ranks: bool = True) -> tuple[Cell, ...]:
        """Return every cell of the grid with its predictions for the sets in `asked`.

        `models`: the published result of `evaluator_models`. `ranks`: True to include what top-5 accuracy and margins
        need. Raises DataError if the predictions do not match the rows of a test set.

        Probabilities are read for one cell and one test set at a time, because the probabilities of all cells do not
        fit into memory. The probabilities of a row are reduced to the rank of the row's label (`RANK`) and, for
        trainings on `full`, the label's margin (`MARGIN`). For multiple choice, probabilities are reduced to
        predictions per question.
        """
        by_row = [one for one in self.asked if one.unit == "row"]
        ranked = [one for one in by_row if one.adds_probabilities or (ranks and is_ranked(self.label_names, one))]
        cells = []
        for row in pq.read_table(models.file("cells.parquet")).to_pylist():
            name = row.pop("name")
            if row["status"] != "done":
                cells.append(Cell(**row))
                continue
            path = models.part(name).file("predictions.parquet")
            measured = by_row if ranks and row["train_set"] == "full" else ranked
            names = [one.name for one in (*measured, *self.answers)]
            others = [("test_set", "not in", names)] if names else None
            tables = [pq.read_table(path, columns=_PREDICTED, filters=others)]
            for one in (*measured, *self.answers):
                own = [("test_set", "=", one.name)]
                found = pq.read_table(path, columns=[*_PREDICTED, "probabilities"], filters=own)
                if found.num_rows:
                    cell, by_question = Cell(**row, predictions=found), one in self.answers
                    tables.append(question_predictions(cell, one, self.right) if by_question else with_ranks(cell, one))
            cells.append(Cell(**row, predictions=pa.concat_tables(tables, promote_options="default")))
        return tuple(cells)


def asked_sets(
    by_row: Sequence[TestSet],
    label_names: tuple[str, ...],
    raw_dataset: PublishedResult,
    specs: Mapping[str, ChallengeSpec],
) -> AskedSets:
    """Return the test sets in the order of `by_row`; multiple-choice sets are converted to one row per question.

    `label_names`: names of the dataset's classes. `raw_dataset`: the published raw dataset, whose manifest contains the
    source's format. `specs`: specs of the dataset's challenge sets.
    """
    declared = {name for name, spec in specs.items() if isinstance(spec.source, ChoiceSource)}
    if raw_dataset.manifest["made_from"]["fields"]["source"]["format"] in CHOICE_FORMATS:
        declared |= {one.name for one in by_row if not one.challenge}
    answers, right = choice_sets(by_row, label_names, declared=declared), right_class(label_names) or 0
    asked = tuple(question_set(one, right) if one in answers else one for one in by_row)
    return AskedSets(asked, tuple(answers), right, label_names)


def choice_sets(
    test_sets: Sequence[TestSet], label_names: tuple[str, ...], *, declared: Collection[str] = ()
) -> list[TestSet]:
    """Return the multiple-choice sets among `test_sets`; in such a set, rows are answers and groups are questions.

    A multiple-choice set has the dataset's own classes, and every group is a question with one right answer.
    `declared`: names of sets with a multiple-choice source, for which a single group with one right answer is enough.
    """
    right = right_class(label_names)
    return [
        one
        for one in test_sets
        if right is not None
        and (one.class_map is None or is_identity(one.class_map, one.label_names, label_names))
        and is_multiple_choice(one.labels == right, one.question_codes, partly=one.name in declared)
    ]


def test_sets(
    raw: Examples,
    challenges: PublishedResult,
    filtered: tuple[FilteredSet, ...],
    specs: Mapping[str, ChallengeSpec],
    unreported: Collection[str],
    fine_tuned: Mapping[str, FineTuned],
    controls: Sequence[ControlSet],
) -> tuple[TestSet, ...]:
    """Return every test set: natural sets with the rows that each filter kept, and challenge sets with class maps.

    Missing challenge sets are left out. Splits in `unreported`, which are used for early stopping, are left out too. If
    evaluators were fine-tuned on a set, the notes on the set say so. Raises DataError if the names of the published
    challenge sets differ from the names in the spec. Raises DataError if a published challenge set no longer fits its
    `map` in the spec.
    """
    published = read_challenge_sets(challenges)
    known = sorted({*published.sets, *published.missing})
    if known != sorted(specs):
        raise DataError(
            f"`challenge_sets` has the sets {known}, but the dataset's YAML file names {sorted(specs)}; materialise "
            "`challenge_sets` again"
        )
    found = []
    for name, examples in test_examples(raw, challenges).items():
        if name in unreported:
            continue
        rows = (examples.row_ids, examples.labels, examples.label_names)
        if name in published.sets:
            test_set = TestSet(
                name,
                True,
                *rows,
                kept={},
                categories=category_columns(examples),
                class_map=class_map(name, specs[name], examples, raw.label_names),
                collapse=specs[name].collapse,
                collected=specs[name].collected,
                notes=(*_challenge_notes(published.sets[name]), *fine_tuned_note(name, fine_tuned)),
                groups=examples.groups,
                questions=separate_questions(examples),
            )
        else:
            judged = [one for one in filtered if one.policy(name) != "kept"]
            test_set = TestSet(
                name,
                False,
                *rows,
                kept={one.representation: np.isin(examples.row_ids, _kept_ids(one)) for one in judged},
                groups=examples.groups,
                questions=separate_questions(examples),
                pooled=any(one.policy(name) == "pooled" for one in judged),
                own_kept={
                    (control.representation, control.name): np.isin(examples.row_ids, control.row_ids)
                    for control in controls
                    if control.split == name and control.seed is None
                },
            )
        found.append(test_set)
    return tuple(found)


def _kept_ids(filtered: FilteredSet) -> np.ndarray:
    return np.asarray(filtered.rows.filter(filtered.rows["kept"])["row_id"].to_numpy())


def _challenge_notes(facts: ChallengeFacts) -> Iterator[str]:
    unlabelled, broken = facts.unlabelled_rows, facts.undecodable_images
    labelled, limited = facts.source_rows - unlabelled, facts.rows + broken
    if limited < labelled:
        yield f"The spec limits it to {limited:,} of {labelled:,} rows."
    if unlabelled:
        yield f"Rows without a label were dropped: {unlabelled:,}."
    if broken:
        yield f"Images that do not decode were dropped: {broken:,}."


def fine_tuned_note(test_set: str, fine_tuned: Mapping[str, FineTuned]) -> tuple[str, ...]:
    """Return a note if evaluators were fine-tuned on other rows of the challenge set, or an empty tuple otherwise."""
    names = ", ".join(name for name, one in fine_tuned.items() if test_set in one.sets)
    return (f"Not zero-shot for evaluators fine-tuned on other rows of this set: {names}.",) if names else ()
