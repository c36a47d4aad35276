"""Asset of the group `report`: the page to read."""

import json
from typing import Any

import dagster as dg
import pyarrow.parquet as pq

from aflite_assets.assets.common import first_rows, materialized, run_asset, stage_options
from aflite_assets.assets.pictures import report_pictures
from aflite_assets.results import PublishedResult
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
        **report_pictures(obtained.result),
        **report_tables(obtained.result),
        **{name: dg.MetadataValue.md(table) for name, table in json.loads(tables.read_text(encoding="utf-8")).items()},
        "report": dg.MetadataValue.path(str(report)),
        "report_json": dg.MetadataValue.path(str(obtained.result.file("report.json"))),
        "dataset_folder": dg.MetadataValue.path(str(folder)),
    }
    return materialized(obtained, metadata)


def report_tables(result: PublishedResult, most: int = 100) -> dict[str, Any]:
    """Every Parquet table of the report that has rows, its first ones, as `table_<name>`; which were cut, and where."""
    read = {file.stem: pq.read_table(file) for file in sorted((result.path / "tables").glob("*.parquet"))}
    found = {f"table_{name}": first_rows(one, most) for name, one in read.items() if one.num_rows}
    cut = [f"{name}: {most} of {one.num_rows} rows" for name, one in read.items() if one.num_rows > most]
    return {
        **found,
        "tables_cut": "; ".join(cut) or "none",
        "tables": dg.MetadataValue.path(str(result.path / "tables")),
    }
