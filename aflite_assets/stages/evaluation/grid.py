"""The grid of evaluators, train sets and seeds: its cells, what each depends on, and which of them to run."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.specs.dataset import SpecView
from aflite_assets.specs.models import ClassicalModelSpec
from aflite_assets.specs.recipes import Recipe
from aflite_assets.stages.shared.content_hashes import checkpoint_content
from aflite_assets.stages.shared.train_sets import TrainSet


@dataclass(frozen=True)
class GridCell:
    """One evaluator on one train set with one seed."""

    evaluator: str
    train_set: TrainSet
    seed: int

    @property
    def name(self) -> str:
        """Unique within the grid: the part's name and the nested run's."""
        middle = [self.train_set.name, *([self.train_set.representation] if self.train_set.representation else [])]
        return ".".join([self.evaluator, *middle, str(self.seed)])


def cell_fields(settings: Any, cell: GridCell, validation: str | None) -> dict[str, Any]:
    """What a cell depends on beside the data; a model without randomness is the same for all seeds, so fitted once.

    `validation`: fingerprint of the rows it stops by, if any.
    """
    rows = hashlib.sha256(np.ascontiguousarray(cell.train_set.row_ids).tobytes()).hexdigest()
    fields = {"settings": settings.model_dump(mode="json"), "checkpoint": checkpoint_content(settings), "rows": rows}
    if validation is not None:
        fields["validation"] = validation
    return fields if isinstance(settings, ClassicalModelSpec) else {**fields, "seed": cell.seed}


def recipe_fields(
    recipe: Recipe, cell: GridCell, validation: str | None, rows: Mapping[str, str | None]
) -> dict[str, Any]:
    """What a cell of several stages depends on beside the data: its start's fields, each stage's settings and rows.

    `validation`: of the start. `rows`: fingerprint of the rows to train on by challenge set, None where they are
    missing.
    """
    stages = [{"settings": one.settings.model_dump(mode="json"), "rows": rows[one.rows]} for one in recipe.stages]
    return {**cell_fields(recipe.settings, cell, validation), "stages": stages}


def input_fingerprint(tests: Mapping[str, Examples]) -> str:
    """sha256 over the names and rows of test sets: all that predictions and their scores depend on.

    Columns that only tables read (attributes, categories, single annotators' labels) are left out, so that another
    category column trains nothing anew.
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
    # A slice's buffers may hold more than the slice; writing it out does not.
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema.remove_metadata()) as writer:
        writer.write_batch(batch.replace_schema_metadata(None))
    return memoryview(sink.getvalue())


def validation_fingerprint(settings: Any, raw: Examples) -> str | None:
    """Fingerprint of the split that an evaluator stops by; None where it stops by train rows or not at all."""
    stopping = getattr(settings, "early_stopping", None)
    if stopping is None or stopping.split is None:
        return None
    return input_fingerprint({stopping.split: raw.in_split(stopping.split)})


def grid_of(spec: SpecView, sets_of_seed: Mapping[int, list[TrainSet]]) -> list[GridCell]:
    """Every cell, by evaluator, seed and train set."""
    return [
        GridCell(evaluator, train_set, seed)
        for evaluator in spec.evaluators
        for seed in spec.seeds
        for train_set in sets_of_seed[seed]
    ]


__all__ = [
    "GridCell",
    "cell_fields",
    "grid_of",
    "input_fingerprint",
    "recipe_fields",
    "validation_fingerprint",
]
