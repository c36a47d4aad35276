"""Whether evaluators trained on full learnt anything, from the stored predictions of a grid; nothing is trained."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from aflite_assets.analysis.inputs.checks import CheckOutcome
from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.scores.judges import OverLargestClass, over_largest_class, over_largest_class_elsewhere
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import ChallengeSpec
from aflite_assets.specs.models import EvaluatorSpec, validation_splits
from aflite_assets.stages.report.asked_sets import asked_sets
from aflite_assets.stages.report.checks import evaluator_outcomes
from aflite_assets.stages.report.forgettables import is_apart, second_phases
from aflite_assets.stages.report.model_families import partial_inputs
from aflite_assets.stages.shared.report_inputs import fine_tuned_evaluators, test_sets


@dataclass(frozen=True)
class Learnt:
    """Margins over the largest class (of questions over guessing) after training on full, as the report has them.

    `natural`: by evaluator, of the natural test set of headlines; `elsewhere`: by challenge set and evaluator.
    `not_asked` and `not_asked_elsewhere`: the trained evaluators that lack there, since rows are too few, or
    probabilities are needed and they give none. `outcomes`: of the report's checks of evaluators, by name.
    """

    natural: Mapping[str, OverLargestClass]
    elsewhere: Mapping[str, Mapping[str, OverLargestClass]]
    not_asked: tuple[str, ...]
    not_asked_elsewhere: Mapping[str, tuple[str, ...]]
    outcomes: Mapping[str, CheckOutcome]

    def outcomes_of(self, check: str) -> dict[str, CheckOutcome]:
        """Of the report's check of this name, by what it is about: an evaluator, or a challenge set."""
        start = f"{check} ("
        return {name[len(start) : -1]: one for name, one in self.outcomes.items() if name.startswith(start)}


def learnt_on_full(
    models: PublishedResult,
    raw: PublishedResult,
    challenges: PublishedResult,
    specs: Mapping[str, ChallengeSpec],
    evaluators: Mapping[str, EvaluatorSpec],
) -> Learnt:
    """What every evaluator learnt from full; multiple choice is asked by question, sums of probabilities where set.

    Left out are those that see one text of a pair, and those that went on to other sets or with forgettable rows: they
    need not beat the largest class.

    Raises:
        DataError: predictions do not fit the rows, or the published challenge sets are not those of `specs`.
    """
    everything = load_examples(raw.path)
    rows = _without_inputs(everything)
    by_row = test_sets(rows, challenges, (), specs, validation_splits(evaluators), {}, ())
    sets = asked_sets(by_row, rows.label_names, raw, specs)
    left_out = {*fine_tuned_evaluators(evaluators)}
    if "text_pair" in everything.table.column_names:
        left_out.update(partial_inputs(evaluators))
    phases = second_phases(evaluators)
    cells = [
        cell for cell in sets.cells_on_full(models) if cell.evaluator not in left_out and not is_apart(cell, phases)
    ]
    natural = over_largest_class(cells, sets.asked)
    elsewhere = over_largest_class_elsewhere(cells, sets.asked)
    trained = dict.fromkeys(cell.evaluator for cell in cells if cell.status == "done")
    lacking = {
        one.name: tuple(name for name in trained if name not in elsewhere.get(one.name, {}))
        for one in sets.asked
        if one.challenge
    }
    return Learnt(
        natural,
        elsewhere,
        tuple(name for name in trained if name not in natural),
        {test_set: names for test_set, names in lacking.items() if names},
        {one.name: one for one in evaluator_outcomes(cells, sets.asked)},
    )


def margins_of_training(name: str, predictions: pa.Table, tests: Sequence[TestSet]) -> dict[str, dict[str, float]]:
    """By split `largest_class` in [0, 1], and `low` and `high` in points of one training's accuracy over it.

    `predictions`: as published. Splits of which it cannot be asked are left out.
    """
    cell = Cell(name, "full", None, 0, 0, "done", None, predictions)
    found = {test_set.name: over_largest_class([cell], [test_set]).get(name) for test_set in tests}
    return {
        split: {"largest_class": one.largest, "low": one.margin.low, "high": one.margin.high}
        for split, one in found.items()
        if one is not None
    }


def natural_sets(everything: Examples, *, left_out: Collection[str]) -> list[TestSet]:
    """The dataset's splits but those left out, with what judging by them needs."""
    rows = _without_inputs(everything)
    return [
        TestSet(split, False, one.row_ids, one.labels, one.label_names, {}, groups=one.groups)
        for split in rows.table["split"].unique().to_pylist()
        if split not in left_out and len(one := rows.in_split(split))
    ]


def _without_inputs(everything: Examples) -> Examples:
    """The same rows without texts, images or features: rows of a split are copied, whatever they hold."""
    needed = [name for name in ("row_id", "split", "label", "group") if name in everything.table.column_names]
    return Examples(everything.table.select(needed), everything.label_names)
