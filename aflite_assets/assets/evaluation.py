"""Assets of the group `evaluation`: models trained and tested before and after, and statistics about the rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg
import pyarrow.parquet as pq
from pydantic import Field

from aflite_assets.analysis.inputs.forgettables import WeakModelFacts
from aflite_assets.assets import common
from aflite_assets.assets.common import check, first_rows, materialized, run_asset, stage_options, table
from aflite_assets.assets.display.columns import column_metadata
from aflite_assets.assets.display.numbers import grid_numbers
from aflite_assets.assets.display.pictures import result_pictures
from aflite_assets.assets.steps.attempts import GPU_POOL
from aflite_assets.assets.steps.optional_checks import NOT_APPLICABLE, asset_with_optional_checks
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.weak_model_findings import CHECKS, findings
from aflite_assets.stages.stage import CellFilter
from resources import ComputeCluster, ComputeDevice, ExperimentTracker, ResultStoreResource

if TYPE_CHECKING:
    from aflite_assets.stages.evaluation.learnt import Learnt


class CellChoice(dg.Config):
    """Which cells of the grid to train in this run; what was trained before is found, the rest is "not run"."""

    evaluators: list[str] = Field(default=[], description="names of the spec's evaluators; empty: all")
    train_sets: list[str] = Field(default=[], description="full, random, filtered, ...; empty: all")
    representations: list[str] = Field(default=[], description="whose filtered sets and controls; empty: all")
    seeds: list[int] = Field(default=[], description="seeds of the spec; empty: all")


_CHECKS = [
    ("all_cells_done", "Every evaluator, train set and seed was trained and tested.", False),
    (
        "better_than_largest_class",
        "Each evaluator trained on full is better than the largest class of the natural test set, by its interval.",
        False,
    ),
    (
        "not_at_chance_on_challenge_sets",
        "No evaluator trained on full is at chance on a challenge set: its interval leaves out the largest class.",
        False,
    ),
]


@asset_with_optional_checks(
    **stage_options(
        "evaluator_models", group="evaluation", kinds={"pytorch", "scikitlearn"}, pool=GPU_POOL, checks=_CHECKS
    )
)
def evaluator_models(
    context: dg.AssetExecutionContext,
    config: CellChoice,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
    compute_cluster: ComputeCluster,
) -> dg.MaterializeResult:
    """Every evaluator on every train set and seed, with its predictions on all test sets; each cell is a result.

    Mean accuracies (in [0, 1]) are plotted under Metadata, Plots; `accuracy.of` says of which evaluator and test set.
    """
    chosen = CellFilter(**{name: tuple(values) for name, values in config.model_dump().items()})
    obtained = run_asset(context, result_store, experiment_tracker, compute_device, compute_cluster, cells=chosen)
    summary = obtained.result.summary
    cells = pq.read_table(obtained.result.file("cells.parquet")).to_pylist()
    undone = {cell["name"]: cell["reason"] or cell["status"] for cell in cells if cell["status"] != "done"}
    metadata = {
        "cells": table({name: value for name, value in cell.items() if value is not None} for cell in cells),
        "done": summary["cells"] - len(undone),
        **grid_numbers(obtained.result),
        "fitted": 0 if obtained.cached else summary["fitted"],
        **column_metadata(obtained.result, result_store.open()),
    }
    done = check("all_cells_done", not undone, warn=True, undone=undone)
    return materialized(obtained, metadata, [done, *_learnt(context.partition_key, obtained.result, result_store)])


def _learnt(dataset: str, models: PublishedResult, result_store: ResultStoreResource) -> list[dg.AssetCheckResult]:
    from aflite_assets.stages.evaluation.learnt import learnt_on_full

    spec, store = common.REGISTRY[dataset], result_store.open()
    raw, challenges = (store.current(each, dataset) for each in ("raw_dataset", "challenge_sets"))
    learnt = learnt_on_full(models, raw, challenges, spec.challenge_sets, spec.evaluators)
    return [_better_than_largest_class(learnt), _not_at_chance(learnt)]


def _better_than_largest_class(learnt: "Learnt") -> dg.AssetCheckResult:
    name = "better_than_largest_class"
    outcomes = learnt.outcomes_of(name)
    if not any(one.applies for one in outcomes.values()):
        return check(name, True, warn=True, result=f"{NOT_APPLICABLE}: no natural test set that can tell")
    behind = [evaluator for evaluator, one in outcomes.items() if not one.passed]
    shown = {evaluator: one.said for evaluator, one in outcomes.items()}
    return check(name, not behind, warn=True, behind=_names(behind), evaluators=shown, **_unasked(learnt.not_asked))


def _not_at_chance(learnt: "Learnt") -> dg.AssetCheckResult:
    name, outcomes = "not_at_chance_on_challenge_sets", learnt.outcomes_of("not_at_chance")
    if not any(one.applies for one in outcomes.values()):
        return check(name, True, warn=True, result=f"{NOT_APPLICABLE}: no challenge sets that can tell")
    passed = all(one.passed for one in outcomes.values())
    every = (one for each in learnt.elsewhere.values() for one in each.values())
    at_chance = [f"{one.evaluator} on {one.test_set}" for one in every if one.at_chance]
    shown = {test_set: one.said for test_set, one in outcomes.items()}
    unasked = [f"{one} on {test_set}" for test_set, each in learnt.not_asked_elsewhere.items() for one in each]
    return check(name, passed, warn=True, at_chance=_names(at_chance), test_sets=shown, **_unasked(unasked))


def _names(those: Sequence[str]) -> str:
    return ", ".join(those) or "none"


def _unasked(those: Sequence[str]) -> dict[str, str]:
    """Of whom it cannot be asked, where there are others: too few rows, or no probabilities where these are needed."""
    return {"cannot_be_asked_of": _names(those)} if those else {}


@asset_with_optional_checks(
    **stage_options(
        "forgettable_sets",
        group="evaluation",
        kinds={"pytorch", "parquet"},
        pool=GPU_POOL,
        checks=[(name, asks, False) for name, asks in CHECKS.items()],
    )
)
def forgettable_sets(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Train rows that weak models forget or never learn, and others to compare them with; empty unless asked for.

    Evaluators of kind `fine_tuned` may be trained on them after full (`forgettables` in a stage).
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    summary = obtained.result.summary
    if summary.get("nothing_asked"):
        skipped = [check(name, True, warn=True, result=f"{NOT_APPLICABLE}: no forgettables") for name in CHECKS]
        return materialized(obtained, {"why_empty": "the dataset's file has no forgettables"}, skipped)
    metadata = {
        "weak_models": table(
            {"weak_model": name, **{field: value for field, value in facts.items() if not isinstance(value, dict)}}
            for name, facts in summary["models"].items()
        ),
        **column_metadata(obtained.result, result_store.open()),
    }
    models = {name: WeakModelFacts(**facts) for name, facts in summary["models"].items()}
    found = findings(models, summary["failed"])
    return materialized(obtained, metadata, [check(name, not said, warn=True, **said) for name, said in found.items()])


@dg.asset(
    # distance_encoder is a model to be trained
    **stage_options("bias_evidence", group="evaluation", kinds={"parquet"}, pool=GPU_POOL)
)
def bias_evidence(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Statistics about kept and removed rows, and about what tells them apart.

    Classes, attributes, scores, text lengths, words that go with a class; distances to the nearest train rows and
    similarities of pairs, each beside random rows; annotators' agreement; possible label errors; the overlap of what
    representations removed; a simple model that the filter did not use. Pictures open by [Show Markdown].
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    from aflite_assets.stages.shared.report_inputs import read_evidence

    tables = {each.title: first_rows(each.table) for each in read_evidence(obtained.result)}
    return materialized(obtained, {**tables, **result_pictures(obtained.result)})
