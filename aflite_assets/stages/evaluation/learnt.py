"""Whether evaluators trained on full learnt anything, from the stored predictions of a grid; nothing is trained."""

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.reports.inputs.records import Cell, TestSet
from aflite_assets.reports.scores.judges import OverLargestClass, over_largest_class, over_largest_class_elsewhere
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import ChallengeSpec
from aflite_assets.specs.models import EvaluatorSpec, validation_splits
from aflite_assets.stages.report.model_families import partial_inputs
from aflite_assets.stages.shared.report_inputs import fine_tuned_evaluators, read_cells, test_sets


def learnt_on_full(
    models: PublishedResult, raw: PublishedResult, evaluators: Mapping[str, EvaluatorSpec]
) -> dict[str, OverLargestClass]:
    """Each evaluator's margin over the largest class of the natural test set, where it can be asked.

    Left out are those that see one text of a pair, and those that went on to other sets: they need not beat it.

    Raises:
        DataError: predictions do not fit the rows of `raw`.
    """
    everything = load_examples(raw.path)
    tested = natural_sets(everything, left_out={"train", *validation_splits(evaluators)})
    return over_largest_class(_judged_cells(models, everything, evaluators), tested)


def learnt_elsewhere(
    models: PublishedResult,
    raw: PublishedResult,
    challenges: PublishedResult,
    specs: Mapping[str, ChallengeSpec],
    evaluators: Mapping[str, EvaluatorSpec],
) -> dict[str, dict[str, OverLargestClass]]:
    """The same margins by challenge set, over the largest class of each; without sets where it cannot be asked.

    Raises:
        DataError: predictions do not fit the rows, or the published challenge sets are not those of `specs`.
    """
    everything = load_examples(raw.path)
    tested = [one for one in test_sets(everything, challenges, (), specs, (), {}, ()) if one.challenge]
    return over_largest_class_elsewhere(_judged_cells(models, everything, evaluators), tested)


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
    # only these: rows of a split are copied, images with them
    needed = [name for name in ("row_id", "split", "label", "group") if name in everything.table.column_names]
    rows = Examples(everything.table.select(needed), everything.label_names)
    return [
        TestSet(split, False, one.row_ids, one.labels, one.label_names, {}, groups=one.groups)
        for split in rows.table["split"].unique().to_pylist()
        if split not in left_out and len(one := rows.in_split(split))
    ]


def _judged_cells(models: PublishedResult, everything: Examples, evaluators: Mapping[str, EvaluatorSpec]) -> list[Cell]:
    left_out = {*fine_tuned_evaluators(evaluators)}
    if "text_pair" in everything.table.column_names:
        left_out.update(partial_inputs(evaluators))
    return [cell for cell in read_cells(models) if cell.train_set == "full" and cell.evaluator not in left_out]
