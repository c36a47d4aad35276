"""Assets of the group `evaluation`: models trained before and after filtering, and statistics of the rows."""

import dagster as dg
import pyarrow.parquet as pq
from pydantic import Field

from aflite_assets.assets.common import first_rows, found_checks, materialized, run_asset, stage_options, table
from aflite_assets.assets.display.columns import column_metadata
from aflite_assets.assets.display.numbers import grid_numbers
from aflite_assets.assets.display.pictures import result_pictures
from aflite_assets.assets.steps.optional_checks import asset_with_optional_checks
from aflite_assets.stages.stage import CellFilter
from resources import ComputeCluster, ComputeDevice, ExperimentTracker, ResultStoreResource


class CellChoice(dg.Config):
    """Cells of the evaluator grid to train in this run.

    Results of earlier training runs are reused. All other cells have the status "not run".
    """

    evaluators: list[str] = Field(default=[], description="evaluators to train, by name; empty: all evaluators")
    train_sets: list[str] = Field(
        default=[], description="train sets to train on, such as full, random, filtered; empty: all train sets"
    )
    representations: list[str] = Field(
        default=[],
        description="representations with the filtered and control sets to train on; empty: all representations",
    )
    seeds: list[int] = Field(
        default=[], description="seeds to train with, from the dataset's YAML file; empty: all seeds"
    )


@asset_with_optional_checks(**stage_options("evaluator_models", group="evaluation", kinds={"pytorch", "scikitlearn"}))
def evaluator_models(
    context: dg.AssetExecutionContext,
    config: CellChoice,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
    compute_cluster: ComputeCluster,
) -> dg.MaterializeResult:
    """Evaluators, each trained on every train set with every seed, and their predictions on all test sets.

    Each cell (evaluator, train set, seed) is a separate result. Mean accuracies (in [0, 1]) are plotted under Metadata,
    Plots; `accuracy.of` names their evaluator and test set.
    """
    chosen = CellFilter(**{name: tuple(values) for name, values in config.model_dump().items()})
    obtained = run_asset(context, result_store, experiment_tracker, compute_device, compute_cluster, cells=chosen)
    summary = obtained.result.summary
    cells = pq.read_table(obtained.result.file("cells.parquet")).to_pylist()
    metadata = {
        "cells": table({name: value for name, value in cell.items() if value is not None} for cell in cells),
        "done": sum(cell["status"] == "done" for cell in cells),
        **grid_numbers(obtained.result),
        "fitted": 0 if obtained.cached else summary["fitted"],
        **column_metadata(obtained.result, result_store.open()),
    }
    return materialized(obtained, metadata, found_checks(obtained, result_store))


@dg.asset(**stage_options("leaning_sets", group="evaluation", kinds={"parquet"}))
def leaning_sets(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """At most three properties associated with the label, and train rows that can show whether models use a property.

    `evaluator_models` trains an evaluator on rows in which a property is not associated with any class. For comparison,
    `evaluator_models` trains the evaluator on the same number of rows in which the property is associated.
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    metadata = {
        "candidates": first_rows(pq.read_table(obtained.result.file("candidates.parquet"))),
        "evaluator": str(obtained.result.summary["evaluator"]),
        **column_metadata(obtained.result, result_store.open()),
    }
    return materialized(obtained, metadata)


@dg.asset(**stage_options("bias_evidence", group="evaluation", kinds={"parquet"}))
def bias_evidence(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Statistics of kept and removed rows, and of the differences between them.

    The tables cover classes, attributes, scores, text lengths, and words that are significantly associated with a
    class. Distances to the nearest train rows and similarities of pairs are compared with those of random rows. Further
    tables cover annotators' agreement, possible label errors, the overlap between the removed rows of representations,
    and a simple model that the filter did not use. Click [Show Markdown] to see pictures.
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    from aflite_assets.stages.shared.report_inputs import read_evidence

    tables = {each.title: first_rows(each.table) for each in read_evidence(obtained.result)}
    return materialized(obtained, {**tables, **result_pictures(obtained.result)})


@dg.asset(**stage_options("analysis", group="evaluation", kinds={"parquet"}))
def analysis(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Every number of the report, computed once: scores, differences with intervals, and verdicts, also as tables for
    pandas.

    `tables` is the folder of Parquet files. `docs/analysis.md` describes the columns of the tables and how to join the
    tables.
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    tables = sorted((obtained.result.path / "tables").glob("*.parquet"))
    metadata = {
        "verdict": str(obtained.result.summary["verdict"]),
        "tables": dg.MetadataValue.path(str(obtained.result.path / "tables")),
        "rows_of_tables": table({"table": path.stem, "rows": pq.read_metadata(path).num_rows} for path in tables),
        "rows": dg.MetadataValue.path(str(obtained.result.file("rows.parquet"))),
    }
    return materialized(obtained, metadata)
