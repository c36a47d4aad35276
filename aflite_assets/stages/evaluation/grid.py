"""The grid of evaluators, train sets and seeds: its cells, the keys of their results, and the selection of cells."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.errors import InvalidInputError
from aflite_assets.specs.models.kinds import ClassicalModelSpec, EvaluatorSpec, OneStageSpec
from aflite_assets.specs.recipes import Recipe
from aflite_assets.stages.shared.content_hashes import checkpoint_content
from aflite_assets.stages.shared.train_sets import TrainSet
from aflite_assets.stages.stage import CellFilter

TRAINING_CODE = "6"
"""Version of the code that trains cells and weak models, which is part of the keys of their results.

It is increased when a change of the code changes the bits of a trained model.
"""


@dataclass(frozen=True)
class GridCell:
    """One evaluator on one train set with one seed."""

    evaluator: str
    train_set: TrainSet
    seed: int

    @property
    def name(self) -> str:
        """Name of the cell's stored result and of its nested run, unique within the grid."""
        return ".".join([self.evaluator, *self._rows, str(self.seed)])

    @property
    def title(self) -> str:
        """Name of the cell with the seed in second place, because MLflow's lists cut off the end of long names."""
        return ".".join([self.evaluator, str(self.seed), *self._rows])

    @property
    def _rows(self) -> list[str]:
        return [self.train_set.name, *([self.train_set.representation] if self.train_set.representation else [])]


def cell_fields(settings: OneStageSpec, cell: GridCell, validation: str | None) -> dict[str, object]:
    """Return the fields that identify the training of a cell, apart from the versions of the data.

    Models without randomness have no field for the seed, so they are trained once for all seeds. `validation`: the
    fingerprint of the rows used for early stopping, or None.
    """
    rows = row_fingerprint(cell.train_set.row_ids)
    fields: dict[str, object] = {
        "settings": settings.model_dump(mode="json"),
        "checkpoint": checkpoint_content(settings),
        "rows": rows,
    }
    if cell.train_set.weights is not None:
        fields["weights"] = hashlib.sha256(np.ascontiguousarray(cell.train_set.weights).tobytes()).hexdigest()
    if validation is not None:
        fields["validation"] = validation
    return fields if isinstance(settings, ClassicalModelSpec) else {**fields, "seed": cell.seed}


def recipe_fields(
    recipe: Recipe, cell: GridCell, validation: str | None, rows: Mapping[str, str | None]
) -> dict[str, object]:
    """Return the fields that identify a cell's training in several stages, apart from the versions of the data.

    `validation`: the fingerprint of the first stage's rows for early stopping, or None. `rows`: fingerprints of the
    rows of later stages, by name of the set of rows; None for a missing set.
    """
    stages = [{"settings": stage.settings.model_dump(mode="json"), "rows": rows[stage.rows]} for stage in recipe.stages]
    return {**cell_fields(recipe.settings, cell, validation), "stages": stages}


def input_fingerprint(tests: Mapping[str, Examples]) -> str:
    """Return the SHA-256 of everything in test sets on which predictions and scores depend: names, inputs and labels.

    Attributes, categories and labels of single annotators are left out, so a change in these columns does not cause new
    trainings.
    """
    total = hashlib.sha256()
    for name, examples in tests.items():
        total.update(f"{name}\n{examples.label_names}\n".encode())
        columns = [
            column
            for column in ("row_id", "label", "text", "text_pair", "image", "features")
            if column in examples.table.column_names
        ]
        for batch in examples.table.select(columns).combine_chunks().to_batches(max_chunksize=1024):
            total.update(_serialised(batch))
    return total.hexdigest()


def _serialised(batch: pa.RecordBatch) -> memoryview:
    # The buffers of a slice may contain rows outside the slice, but the written stream does not.
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema.remove_metadata()) as writer:
        writer.write_batch(batch.replace_schema_metadata(None))
    return memoryview(sink.getvalue())


def validation_fingerprint(settings: EvaluatorSpec, raw: Examples) -> str | None:
    """Return the fingerprint of the split used for early stopping.

    Returns None if early stopping is off or uses train rows.
    """
    stopping = getattr(settings, "early_stopping", None)
    if stopping is None or stopping.split is None:
        return None
    return input_fingerprint({stopping.split: raw.in_split(stopping.split)})


def grid_of(
    evaluators: Collection[str], train_sets: Mapping[int, list[TrainSet]], *, full_alone: Collection[str] = ()
) -> list[GridCell]:
    """Return all cells of the grid, ordered by evaluator, seed and train set.

    `train_sets`: the train sets for each seed. `full_alone`: evaluators that are trained on `full` only. Evaluators in
    `full_alone` continue training on rows that a study draws, which may include rows that a filter removed.
    """
    return [
        GridCell(evaluator, train_set, seed)
        for evaluator in evaluators
        for seed, of_seed in train_sets.items()
        for train_set in of_seed
        if train_set.name == "full" or evaluator not in full_alone
    ]


def row_fingerprint(row_ids: np.ndarray) -> str:
    """Return the SHA-256 of an array of row ids (int64)."""
    return hashlib.sha256(np.ascontiguousarray(row_ids).tobytes()).hexdigest()


def _selectable(cell: GridCell) -> dict[str, object]:
    """Return the value of the cell for each field of `CellFilter`."""
    of_set = {"train_sets": cell.train_set.name, "representations": cell.train_set.representation}
    return {"evaluators": cell.evaluator, **of_set, "seeds": cell.seed}


def is_wanted(cell: GridCell, wanted: CellFilter) -> bool:
    """Return True if `wanted` selects the cell; a train set without a representation matches every representation."""
    selected = ((value, getattr(wanted, field)) for field, value in _selectable(cell).items())
    return all(not names or value is None or value in names for value, names in selected)


def check_filter(wanted: CellFilter, grid: Collection[GridCell]) -> None:
    """Check that the grid contains every name in `wanted`.

    Raises:
        InvalidInputError: a name is not in the grid; the message lists the names in the grid.
    """
    cells = [_selectable(cell) for cell in grid]
    for field, names in vars(wanted).items():
        known = {cell[field] for cell in cells} - {None}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InvalidInputError(
                f"`cells.{field}` names {unknown}, which the grid does not contain; choose from "
                f"{sorted(known, key=str)}"
            )
