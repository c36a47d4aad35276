"""What the report shows of forgettable rows, read from `forgettable_sets` and the grid; nothing is trained."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.diagnostics.evidence.removal_overlap import expected_jaccard
from aflite_assets.reports.inputs.forgettables import Agreement, Forgettables, SecondPhase, WeakModelFacts
from aflite_assets.reports.inputs.records import Cell
from aflite_assets.reports.inputs.train_sets import is_forgettable_set
from aflite_assets.results import PublishedResult
from aflite_assets.specs.models import EvaluatorSpec
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.stages.shared.published import FORGETTABLE_ROWS, MINORITIES


def second_phases(evaluators: Mapping[str, EvaluatorSpec]) -> dict[str, SecondPhase]:
    """The evaluators that go on with rows of weak models, in their order."""
    return {
        name: SecondPhase(
            recipe.start,
            tuple(stage.rows for stage in recipe.stages),
            recipe.forgettable[0].weak_model,
            recipe.forgettable[0].set_name,
        )
        for name, recipe in recipes_of(evaluators).items()
        if recipe.forgettable
    }


def is_apart(cell: Cell, phases: Mapping[str, SecondPhase]) -> bool:
    """Whether a cell stands in the tables of forgettable rows alone."""
    return cell.evaluator in phases or is_forgettable_set(cell.train_set)


def read_forgettables(
    result: PublishedResult, cells: Sequence[Cell], phases: Mapping[str, SecondPhase]
) -> Forgettables | None:
    """Everything about forgettable rows; None where the dataset's file names no weak model.

    `cells`: of the whole grid.
    """
    summary = result.summary
    if summary.get("nothing_asked"):
        return None
    starts = {phase.start for phase in phases.values()}
    alone = {cell.evaluator for cell in cells if is_forgettable_set(cell.train_set)}
    kept = tuple(
        cell
        for cell in cells
        if is_apart(cell, phases) or (cell.train_set == "full" and cell.evaluator in starts | alone)
    )
    trained = (result.path / MINORITIES).is_file()
    return Forgettables(
        models={name: WeakModelFacts(**facts) for name, facts in summary["models"].items()},
        failed=summary["failed"],
        agreement=_agreement(pq.read_table(result.file(FORGETTABLE_ROWS))) if trained else (),
        minorities=pq.read_table(result.file(MINORITIES)) if trained else pa.table({}),
        phases=phases,
        cells=kept,
    )


def _agreement(rows: pa.Table) -> tuple[Agreement, ...]:
    """Of every two trainings, over the rows that both were presented."""
    keys = rows.group_by(["weak_model", "seed"], use_threads=False).aggregate([]).to_pylist()
    model, seed = rows["weak_model"].to_numpy(zero_copy_only=False), rows["seed"].to_numpy()
    row_ids, forgettable = rows["row_id"].to_numpy(), rows["forgettable"].to_numpy(zero_copy_only=False)
    trainings: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for key in keys:
        own = (model == key["weak_model"]) & (seed == key["seed"])
        trainings[f"{key['weak_model']}, seed {key['seed']}"] = row_ids[own], row_ids[own & forgettable]
    return tuple(
        _compared(first, second, trainings[first], trainings[second]) for first, second in combinations(trainings, 2)
    )


def _compared(
    first: str, second: str, one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
) -> Agreement:
    common = np.intersect1d(one[0], other[0])
    one_side, other_side = (np.intersect1d(forgotten, common) for _, forgotten in (one, other))
    shared, either = len(np.intersect1d(one_side, other_side)), len(np.union1d(one_side, other_side))
    return Agreement(
        first,
        second,
        len(one_side),
        len(other_side),
        shared,
        shared / either if either else None,
        expected_jaccard(len(common), len(one_side), len(other_side)),
    )
