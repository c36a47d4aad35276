"""The stage of `evaluator_models`: every evaluator on every train set and seed; each cell is a part of its own.

So is every training that several cells start from, made before them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.specs.dataset import SpecView
from aflite_assets.specs.models import validation_splits
from aflite_assets.stages.evaluation.base_trainings import CellPlans, Start, plan_cells
from aflite_assets.stages.evaluation.cell_choice import CellFilter
from aflite_assets.stages.evaluation.cell_training import CellJob, WeightsJob, tests_of
from aflite_assets.stages.evaluation.cell_workers import FAILURES, CellWorkers, visible_gpus
from aflite_assets.stages.evaluation.grid import GridCell, grid_of
from aflite_assets.stages.shared.progress import Progress
from aflite_assets.stages.shared.train_sets import filter_runs, train_sets
from aflite_assets.stages.stage import Inputs
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
    sets = {
        seed: train_sets(inputs, raw, seed, include_warmup=spec.full_includes_warmup, filter_run=run)
        for seed, run in filter_runs(spec).items()
    }
    grid = grid_of(spec, sets)
    cells.check(grid)
    plans = plan_cells(
        spec,
        grid,
        raw,
        tests_of(raw, inputs["challenge_sets"], validation_splits(spec.evaluators)),
        inputs["challenge_sets"],
        code_version=draft.key.code_version,
        raw_version=inputs["raw_dataset"].data_version,
    )
    with CellWorkers(visible_gpus(device)) as workers:
        trained = _Training(spec, inputs, draft, plans, cells, tracker, device, progress, workers, len(grid))
        trained.share_starts(grid)
        # Cells of one key are one result: the first that is wanted makes it, the others find it.
        makers: dict[str, GridCell] = {}
        for cell in filter(cells.wants, grid):
            makers.setdefault(plans.keys[cell.name].digest, cell)
        made = workers.map(trained.outcome, makers.values())
        outcomes = dict(zip([cell.name for cell in makers.values()], made, strict=True))
        outcomes |= {cell.name: trained.outcome(cell) for cell in grid if cell.name not in outcomes}
    rows = [_row(cell, outcomes[cell.name]) for cell in grid]
    pq.write_table(pa.Table.from_pylist(rows, schema=_CELLS), draft.path / "cells.parquet")
    return _summary(outcomes, fitted=sum(one.status == "done" and not one.reused for one in outcomes.values()))


@dataclass
class _Training:
    """One run of the grid: finds or trains its cells one by one, from any thread."""

    spec: SpecView
    inputs: Inputs
    draft: Draft
    plans: CellPlans
    cells: CellFilter
    tracker: TrackedRun
    device: DeviceSettings
    progress: Progress
    workers: CellWorkers
    total: int
    ended: int = 0
    failed_starts: dict[str, str] = field(default_factory=dict)

    def share_starts(self, grid: Sequence[GridCell]) -> None:
        """Train what wanted cells start from, each once, before any of these cells; what was trained is found."""
        needed: dict[str, Start] = {}
        for cell in grid:
            start = self.plans.starts.get(cell.name)
            if start is None or self.draft.found_part(start.name, start.key) is not None:
                continue
            done = self.draft.found_part(cell.name, self.plans.keys[cell.name]) is not None
            if self.cells.wants(cell) and not done and self.plans.problem(cell) is None:
                needed.setdefault(start.key.digest, start)
        self.workers.map(self._train_start, needed.values())
        for start in self.plans.starts.values():  # those of one key under all their names
            self.draft.found_part(start.name, start.key)

    def _train_start(self, start: Start) -> None:
        """Train it; a failure is that of every cell which starts from it."""
        self.progress.log(f"training what cells start from, {start.name}")
        try:
            self.draft.part(start.name, start.key, self._start_writer(start))
        except FAILURES as error:
            self.failed_starts[start.key.digest] = f"{type(error).__name__}: {error}"

    def outcome(self, cell: GridCell) -> _Outcome:
        """Find the cell, or train it if it is wanted now."""
        outcome = self._found(cell) or (self._trained(cell) if self.cells.wants(cell) else _Outcome("not run"))
        self.ended += 1
        how = "found" if outcome.reused else outcome.status
        reason = f": {outcome.reason}" if outcome.reason else ""
        self.progress.log(f"cell {self.ended} of {self.total}, {cell.name}: {how}{reason}")
        return outcome

    def _found(self, cell: GridCell) -> _Outcome | None:
        part = self.draft.found_part(cell.name, self.plans.keys[cell.name])
        if part is None:
            return None
        self._track_found(cell, part)
        return _Outcome("done", reused=True)

    def _trained(self, cell: GridCell) -> _Outcome:
        problem = self._problem(cell)
        if problem is not None:
            return _Outcome("failed", problem)
        try:
            self.draft.part(cell.name, self.plans.keys[cell.name], self._writer(cell))
        except FAILURES as error:
            return _Outcome("failed", f"{type(error).__name__}: {error}")
        return _Outcome("done")

    def _problem(self, cell: GridCell) -> str | None:
        """Why the cell need not be tried: rows of its stages are missing, or what it starts from failed."""
        start = self.plans.starts.get(cell.name)
        failed = None if start is None else self.failed_starts.get(start.key.digest)
        return self.plans.problem(cell) or failed

    def _writer(self, cell: GridCell) -> Callable[[Draft], Mapping[str, Any]]:
        start, recipe = self.plans.starts.get(cell.name), self.plans.recipes.get(cell.evaluator)

        def write(part: Draft) -> Mapping[str, Any]:
            job = CellJob(
                self.spec.evaluators[cell.evaluator] if recipe is None else recipe.settings,
                cell.train_set.row_ids,
                cell.seed,
                self.device,
                self.inputs["raw_dataset"],
                self.inputs["challenge_sets"],
                validation_splits(self.spec.evaluators),
                part.path,
                part.scratch,
                weights=None if start is None else self.draft.found_part(start.name, start.key),
                stages=() if recipe is None else recipe.stages,
            )
            return self._tracked(cell.name, cell, part, job)

        return write

    def _start_writer(self, start: Start) -> Callable[[Draft], Mapping[str, Any]]:
        def write(part: Draft) -> Mapping[str, Any]:
            job = WeightsJob(
                self.spec.evaluators[start.cell.evaluator],
                start.cell.train_set.row_ids,
                start.cell.seed,
                self.device,
                self.inputs["raw_dataset"],
                part.path,
                part.scratch,
            )
            return self._tracked(start.name, start.cell, part, job)

        return write

    def _tracked(self, name: str, cell: GridCell, part: Draft, job: CellJob | WeightsJob) -> Mapping[str, Any]:
        """Train under a nested run of this name."""
        settings = self.spec.evaluators[cell.evaluator]
        with self.tracker.child(name) as run:
            described = {"evaluator": settings.model_dump(mode="json"), "seed": cell.seed}
            run.log_parameters({**described, "train_set": cell.train_set.name})
            digest = part.key.fields["rows"][:20]
            run.log_dataset(f"{part.partition}.{cell.train_set.name}", digest=digest, context="training")
            metrics = self.workers.train(job, self.progress.log)
            run.log_metrics(metrics)
        return metrics

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
