"""Asset of the group `embedding`: features of every row that was not used for warm-up."""

from typing import Any

import dagster as dg
import numpy as np

from aflite_assets.assets.common import check, materialized, run_asset, stage_options, table
from aflite_assets.assets.display.columns import column_metadata
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.stages.shared.published import open_features, read_rows, read_selection, read_warmup_rows
from aflite_assets.stages.stage import study_stages
from resources import ComputeCluster, ComputeDevice, ExperimentTracker, ResultStoreResource

_CHECKS = (
    ("features_finite", "No feature of any representation is NaN or infinite.", True),
    (
        "rows_complete",
        "Embedded and warm-up rows are disjoint and together the whole dataset, or the sample of it.",
        True,
    ),
)


@dg.asset(**stage_options("embeddings", group="embedding", kinds={"numpy", "pytorch"}, checks=_CHECKS))
def embeddings(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
    compute_cluster: ComputeCluster,
) -> dg.MaterializeResult:
    """Features of all rows that were not used for warm-up, in all splits, per representation.

    If a run is stopped, the next run resumes the computation.
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device, compute_cluster)
    summary = obtained.result.summary
    store = result_store.open()
    metadata = {
        "representations": table({"representation": name, **facts} for name, facts in summary.items()),
        **column_metadata(obtained.result, store),
    }
    return materialized(obtained, metadata, _checks(obtained.result, store))


def _checks(result: PublishedResult, store: ResultStore) -> list[dg.AssetCheckResult]:
    warmup = read_warmup_rows(store.current("warmup_split", result.partition))
    rows = store.current("raw_dataset", result.partition).summary["rows"]
    selecting = [one.stage.name for one in study_stages() if one.role == "selects"]
    selection = read_selection({name: store.current(name, result.partition) for name in selecting})
    rows_in_all = sum(rows.values()) - (0 if selection is None else rows["train"] - len(selection.rows))
    finite: dict[str, Any] = {name: bool(np.isfinite(open_features(part)).all()) for name, part in result.parts.items()}
    embedded = {name: read_rows(part)["row_id"].to_numpy() for name, part in result.parts.items()}
    union = {name: len(np.union1d(rows, warmup)) for name, rows in embedded.items()}
    complete = all(union[name] == rows_in_all == len(rows) + len(warmup) for name, rows in embedded.items())
    return [
        check("features_finite", all(finite.values()), finite=finite),
        check("rows_complete", complete, rows=rows_in_all, warmup_rows=len(warmup), distinct_rows=union),
    ]
