"""Asset of the group `embedding`: features of every row that was not used for warm-up."""

from typing import Any

import dagster as dg
import numpy as np

from aflite_assets.assets.common import AssetRun, check, stage_asset, table
from aflite_assets.stages.shared.published import open_features, read_rows, read_selection, read_warmup_rows
from aflite_assets.stages.stage import study_stages

_CHECKS = (
    ("features_finite", "No feature of any representation is NaN or infinite.", True),
    (
        "rows_complete",
        "Embedded and warm-up rows are disjoint and together the whole dataset, or the sample of it.",
        True,
    ),
)


def _checks(run: AssetRun) -> list[dg.AssetCheckResult]:
    result, store = run.result, run.store
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


@stage_asset(group="embedding", kinds={"numpy", "pytorch"}, checks=_CHECKS, find_checks=_checks, on_cluster=True)
def embeddings(run: AssetRun) -> dict[str, Any]:
    """Features of all rows that were not used for warm-up, in all splits, per representation.

    If a run is stopped, the next run resumes the computation.
    """
    return {"representations": table({"representation": name, **facts} for name, facts in run.summary.items())}
