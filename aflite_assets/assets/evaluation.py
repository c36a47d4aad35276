"""Assets of the group `evaluation`: models trained and tested before and after, and statistics about the rows."""

import dagster as dg
import pyarrow.parquet as pq

from aflite_assets.assets.common import check, materialized, run_asset, stage_options, table
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource

_CHECKS = [("all_cells_done", "Every evaluator, train set and seed was trained and tested.", False)]


@dg.asset(
    **stage_options(
        "evaluator_models", group="evaluation", kinds={"pytorch", "scikitlearn"}, pool="gpu", checks=_CHECKS
    )
)
def evaluator_models(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Every evaluator on every train set and seed, with its predictions on all test sets; each cell is a result."""
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    summary = obtained.result.summary
    cells = pq.read_table(obtained.result.file("cells.parquet")).to_pylist()
    failed = {cell["name"]: cell["reason"] for cell in cells if cell["status"] == "failed"}
    metadata = {
        "cells": table({name: value for name, value in cell.items() if value is not None} for cell in cells),
        "done": summary["cells"] - summary["failed"],
        "fitted": 0 if obtained.reused else summary["fitted"],
    }
    return materialized(obtained, metadata, [check("all_cells_done", not failed, warn=True, failed=failed)])


@dg.asset(**stage_options("bias_evidence", group="evaluation", kinds={"parquet"}))
def bias_evidence(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Statistics about kept and removed rows: classes, attributes, scores, text lengths, words that go with a class."""
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    from aflite_assets.stages.report_inputs import read_evidence

    tables = read_evidence(obtained.result)
    return materialized(obtained, {each.title: table(each.table.slice(0, 100).to_pylist()) for each in tables})
