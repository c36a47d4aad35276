"""Asset of the group `report`: the page to read."""

import json

import dagster as dg

from aflite_assets.assets.common import materialized, run_asset, stage_options
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource


@dg.asset(**stage_options("benchmark_report", group="report", kinds={"html"}))
def benchmark_report(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """One page with accuracy before and after filtering, fair controls, figures and evidence; the same as JSON."""
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    store = result_store.open()
    report, tables = obtained.result.file("report.html"), obtained.result.file("tables.json")
    folder = store.current("published_dataset", context.partition_key).path
    context.log.info(f"Report: {report}")
    context.log.info(f"Dataset folder: {folder}")
    metadata = {
        **{name: dg.MetadataValue.md(table) for name, table in json.loads(tables.read_text(encoding="utf-8")).items()},
        "report": dg.MetadataValue.path(str(report)),
        "report_json": dg.MetadataValue.path(str(obtained.result.file("report.json"))),
        "dataset_folder": dg.MetadataValue.path(str(folder)),
    }
    return materialized(obtained, metadata)
