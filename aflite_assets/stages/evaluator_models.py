"""The stage of `evaluator_models`: every evaluator on every train set and seed; each cell is a part of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.errors import AfliteError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.model_specs import validation_splits
from aflite_assets.sources.specs import SpecView
from aflite_assets.sources.tables import load_examples
from aflite_assets.stages.cell_training import CellJob, tests_of
from aflite_assets.stages.cell_workers import CellWorkers, visible_gpus
from aflite_assets.stages.grid import (
    CellFilter,
    GridCell,
    cell_fields,
    grid_of,
    input_fingerprint,
    validation_fingerprint,
)
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import Progress
from aflite_assets.stages.train_sets import train_sets
from aflite_assets.tracking import TrackedRun

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


@dataclass(frozen=True)
class _Outcome:
    """How one cell ended: done, failed with a reason, or not run; `reused`: found instead of trained."""

    status: str
    reason: str | None = None
    reused: bool = False


def run(
    spec: SpecView,
    inputs: Inputs,
    draft: Draft,
    *,
    tracker: TrackedRun,
    device: DeviceSettings,
    progress: Progress,
    cells: CellFilter = CellFilter(),  # noqa: B008 - frozen
) -> dict[str, Any]:
    """Train and test the grid, or the part of it that `cells` names; what was trained before is found.

    A cell that fails is listed with its reason and does not stop the others.
    """
    raw = load_examples(inputs["raw_dataset"].path)
    sets = {seed: train_sets(inputs, raw, seed, include_warmup=spec.full_includes_warmup) for seed in spec.seeds}
    grid = grid_of(spec, sets)
    cells.check(grid)
    keys = _keys(spec, inputs, draft, raw, grid)
    with CellWorkers(visible_gpus(device)) as workers:
        trained = _Training(spec, inputs, draft, keys, cells, tracker, device, progress, workers, len(grid))
        # Cells of one key are one result: the first that is wanted makes it, the others find it.
        makers: dict[str, GridCell] = {}
        for cell in filter(cells.wants, grid):
            makers.setdefault(keys[cell.name].digest, cell)
        made = workers.map(trained.outcome, makers.values())
        outcomes = dict(zip([cell.name for cell in makers.values()], made, strict=True))
        outcomes |= {cell.name: trained.outcome(cell) for cell in grid if cell.name not in outcomes}
    rows = [_row(cell, outcomes[cell.name]) for cell in grid]
    pq.write_table(pa.Table.from_pylist(rows, schema=_CELLS), draft.path / "cells.parquet")
    return _summary(outcomes, fitted=sum(one.status == "done" and not one.reused for one in outcomes.values()))


def _keys(spec: SpecView, inputs: Inputs, draft: Draft, raw: Examples, grid: list[GridCell]) -> dict[str, ResultKey]:
    tests = tests_of(raw, inputs["challenge_sets"], validation_splits(spec.evaluators))
    versions = {"raw_dataset": inputs["raw_dataset"].data_version, "tests": input_fingerprint(tests)}
    validation = {name: validation_fingerprint(settings, raw) for name, settings in spec.evaluators.items()}
    return {
        cell.name: ResultKey(
            draft.key.code_version,
            cell_fields(spec.evaluators[cell.evaluator], cell, validation[cell.evaluator]),
            versions,
        )
        for cell in grid
    }


@dataclass
class _Training:
    """One run of the grid: finds or trains its cells one by one, from any thread."""

    spec: SpecView
    inputs: Inputs
    draft: Draft
    keys: Mapping[str, ResultKey]
    cells: CellFilter
    tracker: TrackedRun
    device: DeviceSettings
    progress: Progress
    workers: CellWorkers
    total: int
    ended: int = 0

    def outcome(self, cell: GridCell) -> _Outcome:
        """Find the cell, or train it if it is wanted now."""
        outcome = self._found(cell) or (self._trained(cell) if self.cells.wants(cell) else _Outcome("not run"))
        self.ended += 1
        how = "found" if outcome.reused else outcome.status
        reason = f": {outcome.reason}" if outcome.reason else ""
        self.progress.log(f"cell {self.ended} of {self.total}, {cell.name}: {how}{reason}")
        return outcome

    def _found(self, cell: GridCell) -> _Outcome | None:
        part = self.draft.found_part(cell.name, self.keys[cell.name])
        if part is None:
            return None
        self._track_found(cell, part)
        return _Outcome("done", reused=True)

    def _trained(self, cell: GridCell) -> _Outcome:
        try:
            self.draft.part(cell.name, self.keys[cell.name], self._writer(cell))
        except (AfliteError, RuntimeError, ValueError, MemoryError) as error:
            return _Outcome("failed", f"{type(error).__name__}: {error}")
        return _Outcome("done")

    def _writer(self, cell: GridCell) -> Callable[[Draft], Mapping[str, Any]]:
        settings = self.spec.evaluators[cell.evaluator]

        def write(part: Draft) -> Mapping[str, Any]:
            job = CellJob(
                settings,
                cell.train_set.row_ids,
                cell.seed,
                self.device,
                self.inputs["raw_dataset"],
                self.inputs["challenge_sets"],
                validation_splits(self.spec.evaluators),
                part.path,
                part.scratch,
            )
            with self.tracker.child(cell.name) as run:
                described = {"evaluator": settings.model_dump(mode="json"), "seed": cell.seed}
                run.log_parameters({**described, "train_set": cell.train_set.name})
                digest = part.key.fields["rows"][:20]
                run.log_dataset(f"{part.partition}.{cell.train_set.name}", digest=digest, context="training")
                metrics = self.workers.train(job, self.progress.log)
                run.log_metrics(metrics)
            return metrics

        return write

    def _track_found(self, cell: GridCell, part: PublishedResult) -> None:
        """Give the run of a new grid the numbers of a cell that was found."""
        with self.tracker.child(cell.name, tags={"aflite.found": "true"}) as run:
            run.log_metrics(part.summary)


def _summary(outcomes: Mapping[str, _Outcome], *, fitted: int) -> dict[str, Any]:
    by_status = {status: sum(one.status == status for one in outcomes.values()) for status in ("failed", "not run")}
    return {
        "cells": len(outcomes),
        "failed": by_status["failed"],
        "not_run": by_status["not run"],
        "fitted": fitted,
        "incomplete": any(by_status.values()),
    }


def _row(cell: GridCell, outcome: _Outcome) -> dict[str, Any]:
    return {
        "name": cell.name,
        "evaluator": cell.evaluator,
        "train_set": cell.train_set.name,
        "representation": cell.train_set.representation,
        "seed": cell.seed,
        "train_rows": len(cell.train_set.row_ids),
        "status": outcome.status,
        "reason": outcome.reason,
    }
