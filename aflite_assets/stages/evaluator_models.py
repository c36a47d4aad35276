"""The stage of `evaluator_models`: every evaluator on every train set and seed; each cell is a part of its own."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.errors import AfliteError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.evaluators import Evaluation, evaluate
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.model_specs import LinearModelSpec, RbfSvmSpec
from aflite_assets.sources.specs import SpecView
from aflite_assets.sources.tables import load_examples
from aflite_assets.stages.contents import checkpoint_content
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import Progress
from aflite_assets.stages.published import full_rows, read_challenge_sets, read_control_sets, test_examples
from aflite_assets.tracking import TrackedRun


@dataclass(frozen=True)
class TrainSet:
    """One train set: full (representation None), filtered, or a control; `row_ids` int64 ascending."""

    name: str
    representation: str | None
    row_ids: np.ndarray


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


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Train and test the whole grid; a cell that fails is listed with its reason and does not stop the others."""
    raw = load_examples(inputs["raw_dataset"].path)
    tests = test_examples(raw, inputs["challenge_sets"])
    mapped = read_challenge_sets(inputs["challenge_sets"]).mapped
    grid = [
        GridCell(evaluator, train_set, seed)
        for evaluator in spec.evaluators
        for seed in spec.seeds
        for train_set in _train_sets(inputs, raw, seed, include_warmup=spec.full_includes_warmup)
    ]
    versions = {name: inputs[name].data_version for name in ("raw_dataset", "challenge_sets")}
    rows = []
    for number, cell in enumerate(grid):
        settings = spec.evaluators[cell.evaluator]
        key = ResultKey(draft.key.code_version, _cell_fields(settings, cell), versions)
        try:
            obtained = draft.part(
                cell.name,
                key,
                partial(
                    _evaluate, cell, settings, raw, tests, mapped, tracker=tracker, device=device, progress=progress
                ),
            )
        except (AfliteError, RuntimeError, ValueError, MemoryError) as error:
            rows.append(_row(cell, "failed", f"{type(error).__name__}: {error}", reused=False))
            progress.log(f"cell {cell.name} failed: {error}")
        else:
            rows.append(_row(cell, "done", None, reused=obtained.reused))
            if obtained.reused:
                _track_found(cell, obtained.result, tracker)
            progress.log(f"cell {number + 1} of {len(grid)}: {cell.name}{' (found)' if obtained.reused else ''}")
    reused = [row.pop("reused") for row in rows]
    pq.write_table(pa.Table.from_pylist(rows, schema=_CELLS), draft.path / "cells.parquet")
    failed = sum(row["status"] == "failed" for row in rows)
    fitted = len(
        {
            draft.parts[row["name"]].key
            for row, found in zip(rows, reused, strict=True)
            if row["status"] == "done" and not found
        }
    )
    return {"cells": len(rows), "failed": failed, "fitted": fitted, "incomplete": failed > 0}


_CELLS = pa.schema(
    [
        ("name", pa.string()),
        ("evaluator", pa.string()),
        ("train_set", pa.string()),
        ("representation", pa.string()),
        ("seed", pa.int64()),
        ("train_rows", pa.int64()),
        ("status", pa.string()),
        ("reason", pa.string()),
    ]
)


def _train_sets(inputs: Inputs, raw: Examples, seed: int, *, include_warmup: bool) -> list[TrainSet]:
    full = full_rows(raw, inputs["warmup_split"], include_warmup=include_warmup).in_split("train")
    sets = [TrainSet("full", None, full.row_ids)]
    controls = read_control_sets(inputs["control_sets"])
    for name, part in inputs["filtered_sets"].parts.items():
        rows = pq.read_table(part.file("rows.parquet"), filters=[("split", "=", "train"), ("kept", "=", True)])
        sets.append(TrainSet("filtered", name, np.sort(rows["row_id"].to_numpy())))
        sets += [
            TrainSet(control.name, name, control.row_ids)
            for control in controls
            if control.representation == name and control.split == "train" and control.seed in (seed, None)
        ]
    return sets


def _track_found(cell: GridCell, part: PublishedResult, tracker: TrackedRun) -> None:
    """Give the run of a new grid the numbers of a cell that was found."""
    with tracker.child(cell.name, tags={"aflite.found": "true"}) as run:
        run.log_metrics(part.summary)


def _cell_fields(settings: Any, cell: GridCell) -> dict[str, Any]:
    """What a cell depends on: a model without randomness is the same for all seeds, so it is fitted once."""
    rows = hashlib.sha256(np.ascontiguousarray(cell.train_set.row_ids).tobytes()).hexdigest()
    fields = {"settings": settings.model_dump(mode="json"), "checkpoint": checkpoint_content(settings), "rows": rows}
    return fields if isinstance(settings, LinearModelSpec | RbfSvmSpec) else {**fields, "seed": cell.seed}


def _evaluate(
    cell: GridCell,
    settings: Any,
    raw: Examples,
    tests: Mapping[str, Examples],
    mapped: Collection[str],
    part: Draft,
    *,
    tracker: TrackedRun,
    device: DeviceSettings,
    progress: Progress,
) -> Mapping[str, Any]:
    train = raw.select(cell.train_set.row_ids)
    with tracker.child(cell.name) as run:
        run.log_parameters(
            {"evaluator": settings.model_dump(mode="json"), "seed": cell.seed, "train_set": cell.train_set.name}
        )
        run.log_dataset(
            f"{part.partition}.{cell.train_set.name}", digest=part.key.fields["rows"][:20], context="training"
        )
        evaluation = evaluate(
            settings, train, tests, seed=cell.seed, device=device, scratch=part.scratch, log=progress.log
        )
        metrics = {**evaluation.metrics, **_accuracies(evaluation, tests, mapped)}
        run.log_metrics(metrics)
    pq.write_table(_predictions(evaluation, tests), part.path / "predictions.parquet")
    if evaluation.dynamics is not None:
        pq.write_table(evaluation.dynamics, part.path / "dynamics.parquet")
    return metrics


def _accuracies(evaluation: Evaluation, tests: Mapping[str, Examples], mapped: Collection[str]) -> dict[str, float]:
    """Accuracy where classes are the dataset's own; where they are mapped it is the report's to compute."""
    return {
        f"accuracy.{name}": float((predictions.predicted == tests[name].labels).mean())
        for name, predictions in evaluation.predictions.items()
        if name not in mapped
    }


def _predictions(evaluation: Evaluation, tests: Mapping[str, Examples]) -> pa.Table:
    tables = []
    for name, predictions in evaluation.predictions.items():
        rows = len(predictions.predicted)
        probabilities = None if predictions.probabilities is None else list(predictions.probabilities)
        tables.append(
            pa.table(
                {
                    "test_set": pa.array([name] * rows, pa.string()),
                    "row_id": tests[name].row_ids,
                    "predicted": predictions.predicted.astype(np.int64),
                    "probabilities": pa.array(probabilities or [None] * rows, pa.list_(pa.float32())),
                }
            )
        )
    return pa.concat_tables(tables)


def _row(cell: GridCell, status: str, reason: str | None, *, reused: bool) -> dict[str, Any]:
    return {
        "name": cell.name,
        "evaluator": cell.evaluator,
        "train_set": cell.train_set.name,
        "representation": cell.train_set.representation,
        "seed": cell.seed,
        "train_rows": len(cell.train_set.row_ids),
        "status": status,
        "reason": reason,
        "reused": reused,
    }
