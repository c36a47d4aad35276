"""The stage `evaluator_models`: it trains and tests every evaluator on every train set with every seed.

Each combination of evaluator, train set and seed is a cell, which is stored as a part of the result. Training runs from
which several cells start are run first and stored as separate parts.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import ClusterError
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import OneStageSpec, validation_splits
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.stages.evaluation.base_trainings import BaseTraining, CellPlans, first_settings, plan_cells
from aflite_assets.stages.evaluation.cell_training import CellJob, TrainingJob, WeightsJob, tests_of
from aflite_assets.stages.evaluation.evaluator_checks import EVALUATOR_CHECKS
from aflite_assets.stages.evaluation.grid import TRAINING_CODE, GridCell, check_filter, grid_of, is_wanted
from aflite_assets.stages.evaluation.row_sets import study_train_sets
from aflite_assets.stages.shared.published import full_rows, read_control_sets, read_selection
from aflite_assets.stages.shared.train_sets import filter_runs, leaning_train_sets, train_sets
from aflite_assets.stages.shared.training_workers import (
    FAILURES,
    ClusterWorkers,
    LocalWorkers,
    log_training,
    open_workers,
)
from aflite_assets.stages.stage import (
    Stage,
    StageContext,
    StageInputs,
    StageSettings,
)

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
    """Outcome of one cell: done, failed with a reason, or not run.

    `cached`: True if the result of an earlier training was reused.
    """

    status: str
    reason: str | None = None
    cached: bool = False


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Train and test the cells of the grid that `context.cells` selects, and reuse earlier trainings.

    A cell that fails is listed with its reason and does not stop the others.
    """
    raw = load_examples(inputs.raw_dataset.path)
    selection = read_selection(inputs.selection)
    full = full_rows(
        raw, inputs.warmup_split, include_warmup=settings.full_includes_warmup, selection=selection
    ).in_split("train")
    controls = read_control_sets(inputs.control_sets)
    sets = {
        seed: [
            *train_sets(full.row_ids, inputs.filtered_sets, controls, seed, filter_run=filter_run),
            *study_train_sets(settings, inputs.drawn, seed),
        ]
        for seed, filter_run in filter_runs(settings.seeds, settings.filter_seeds).items()
    }
    recipes = recipes_of(settings.evaluators)
    grid = grid_of(settings.evaluators, sets, full_alone={name for name, recipe in recipes.items() if recipe.drawn})
    of_leaning, evaluator = leaning_train_sets(inputs.leaning_sets), inputs.leaning_sets.summary["evaluator"]
    grid += [GridCell(evaluator, one, training) for training, each in of_leaning.items() for one in each]
    check_filter(context.cells, grid)
    plans = plan_cells(
        settings.evaluators,
        grid,
        raw,
        tests_of(raw, inputs.challenge_sets, validation_splits(settings.evaluators)),
        inputs.challenge_sets,
        inputs.drawn,
        raw_version=inputs.raw_dataset.data_version,
    )
    with open_workers(context.cluster, context.device, log=context.progress.log) as workers:
        training = _GridTraining(settings, inputs, draft, plans, context, workers, len(grid))
        training.train_bases(grid)
        # Cells with equal keys share one result: the first selected cell is trained, and the others reuse it.
        makers: dict[str, GridCell] = {}
        for cell in grid:
            if is_wanted(cell, context.cells):
                makers.setdefault(plans.keys[cell.name].digest, cell)
        made = workers.map(training.outcome, makers.values())
        outcomes = dict(zip([cell.name for cell in makers.values()], made, strict=True))
        outcomes |= {cell.name: training.outcome(cell) for cell in grid if cell.name not in outcomes}
    draft.order_parts([*training.base_names(), *(cell.name for cell in makers.values()), *outcomes])
    rows = [_row(cell, outcomes[cell.name]) for cell in grid]
    pq.write_table(pa.Table.from_pylist(rows, schema=_CELLS), draft.path / "cells.parquet")
    return _summary(outcomes.values())


@dataclass
class _GridTraining:
    """One run over the grid, which trains cells or reuses their results; its methods can be called from any thread."""

    settings: DatasetSpec
    inputs: StageInputs
    draft: Draft
    plans: CellPlans
    context: StageContext
    workers: LocalWorkers | ClusterWorkers
    total: int
    ended: int = 0
    failed_bases: dict[str, str] = field(default_factory=dict)

    def train_bases(self, grid: Sequence[GridCell]) -> None:
        """Run the base trainings that the selected cells need, before the cells are trained.

        Base trainings with stored results are not run again.
        """
        needed: dict[str, BaseTraining] = {}
        for cell in grid:
            base = self.plans.base_trainings.get(cell.name)
            if base is None or self._weights(base) is not None:
                continue
            done = self.draft.add_published_part(cell.name, self.plans.keys[cell.name]) is not None
            if is_wanted(cell, self.context.cells) and not done and self.plans.problem(cell) is None:
                needed.setdefault(base.key.digest, base)
        self.workers.map(self._train_base, needed.values())
        for base in self.plans.base_trainings.values():  # one result may have several names
            self.draft.add_published_part(base.name, base.key)

    def base_names(self) -> list[str]:
        """Return the names of all base trainings.

        A base training may have several names. The list contains the first name of every base training, followed by all
        names of all base trainings.
        """
        firsts: dict[str, str] = {}
        for base in self.plans.base_trainings.values():
            firsts.setdefault(base.key.digest, base.name)
        return [*firsts.values(), *(base.name for base in self.plans.base_trainings.values())]

    def _weights(self, base: BaseTraining) -> PublishedResult | None:
        """Return the stored weights of a base training, or None if no weights are stored.

        The weights were trained by the stage `evaluator_models` or by the stage of a study.
        """
        studied = {part.key: part for drawn in self.inputs.drawn.values() for part in drawn.parts.values()}
        return studied.get(base.key.digest) or self.draft.add_published_part(base.name, base.key)

    def _train_base(self, base: BaseTraining) -> None:
        """Run a base training; if it fails, every cell that starts from it fails."""
        self.context.progress.log(f"training the base model {base.name}")
        try:
            self.draft.part(base.name, base.key, partial(self._write_base, base))
        except ClusterError:
            raise
        except FAILURES as error:
            self.failed_bases[base.key.digest] = f"{type(error).__name__}: {error}"

    def outcome(self, cell: GridCell) -> _Outcome:
        """Reuse the cell's result, or train the cell if it is selected."""
        part = self.draft.add_published_part(cell.name, self.plans.keys[cell.name])
        if part is not None:
            with self.context.tracker.child(cell.name, title=cell.title, tags={"aflite.found": "true"}) as run:
                run.log_metrics(part.summary)
            outcome = _Outcome("done", cached=True)
        else:
            outcome = self._trained(cell) if is_wanted(cell, self.context.cells) else _Outcome("not run")
        self.ended += 1
        self.context.progress.on_part(self.ended, self.total)
        how = "found" if outcome.cached else outcome.status
        reason = f": {outcome.reason}" if outcome.reason else ""
        self.context.progress.log(f"cell {self.ended} of {self.total}, {cell.name}: {how}{reason}")
        return outcome

    def _trained(self, cell: GridCell) -> _Outcome:
        base = self.plans.base_trainings.get(cell.name)
        failed = None if base is None else self.failed_bases.get(base.key.digest)
        if problem := self.plans.problem(cell) or failed:
            return _Outcome("failed", problem)
        try:
            self.draft.part(cell.name, self.plans.keys[cell.name], partial(self._write, cell))
        except ClusterError:  # the cluster failed, so the other cells would fail too
            raise
        except FAILURES as error:
            return _Outcome("failed", f"{type(error).__name__}: {error}")
        return _Outcome("done")

    def _write(self, cell: GridCell, part: Draft) -> Mapping[str, float]:
        base, recipe = self.plans.base_trainings.get(cell.name), self.plans.recipes.get(cell.evaluator)
        settings = first_settings(self.settings.evaluators[cell.evaluator], recipe)
        job = CellJob(
            **vars(self._job(settings, cell, part)),
            challenge_sets=self.inputs.challenge_sets,
            unreported=validation_splits(self.settings.evaluators),
            weights=None if base is None else self._weights(base),
            stages=() if recipe is None else recipe.stages,
            stage_rows={} if recipe is None else self.plans.stage_rows.row_ids(recipe, cell.seed),
        )
        return self._tracked(cell.name, cell, part, job, title=cell.title)

    def _write_base(self, base: BaseTraining, part: Draft) -> Mapping[str, float]:
        job = WeightsJob(**vars(self._job(base.settings, base.cell, part)))
        return self._tracked(base.name, base.cell, part, job, title=base.title)

    def _job(self, settings: OneStageSpec, cell: GridCell, part: Draft) -> TrainingJob:
        """Return the fields that the jobs of a cell and of its base training share."""
        return TrainingJob(
            settings=settings,
            train_rows=cell.train_set.row_ids,
            seed=cell.seed,
            device=self.context.device,
            raw=self.inputs.raw_dataset,
            target=part.path,
            scratch=part.scratch,
            row_weights=cell.train_set.weights,
        )

    def _tracked(
        self, name: str, cell: GridCell, part: Draft, job: CellJob | WeightsJob, *, title: str
    ) -> Mapping[str, float]:
        """Train a model, and log the training to a nested run with the given name and title."""
        settings = self.settings.evaluators[cell.evaluator]
        with self.context.tracker.child(name, title=title) as run:
            described = {"evaluator": settings.model_dump(mode="json"), "seed": cell.seed}
            run.log_parameters({**described, "train_set": cell.train_set.name})
            digest = part.key.fields["rows"][:20]
            run.log_dataset(f"{part.partition}.{cell.train_set.name}", digest=digest, context="training")
            metrics = self.workers.train(job, self.context.progress.log)
            log_training(run, metrics, part.scratch)
        return metrics


def _summary(outcomes: Collection[_Outcome]) -> dict[str, object]:
    counts = Counter(outcome.status for outcome in outcomes)
    return {
        "cells": len(outcomes),
        "failed": counts["failed"],
        "not_run": counts["not run"],
        "fitted": sum(outcome.status == "done" and not outcome.cached for outcome in outcomes),
        "incomplete": counts["failed"] + counts["not run"] > 0,
    }


def _row(cell: GridCell, outcome: _Outcome) -> dict[str, object]:
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


_SETTINGS = StageSettings("evaluators seeds filter_seeds full_includes_warmup", stage="evaluator_models")
_INPUTS = "raw_dataset challenge_sets selection warmup_split drawn leaning_sets filtered_sets control_sets"
EVALUATOR_MODELS = Stage("evaluator_models", TRAINING_CODE, _SETTINGS, _INPUTS, run, checks=EVALUATOR_CHECKS)
