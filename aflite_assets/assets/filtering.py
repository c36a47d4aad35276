"""Assets of the group `filtering`: the filter, its iterations, the control sets, and the published dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import dagster as dg
import numpy as np
import pyarrow.parquet as pq

from aflite_assets.assets.common import (
    DATASETS,
    OWNERS,
    AssetRun,
    IterationRow,
    check,
    dataset_spec,
    found_checks,
    stage_asset,
    table,
)
from aflite_assets.assets.display.inline import small_lines
from aflite_assets.assets.display.numbers import filter_numbers
from aflite_assets.assets.display.pictures import result_pictures
from aflite_assets.results import PublishedResult
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.published import WORDS_RECORDED, report_iterations
from aflite_assets.stages.stage import Progress

if TYPE_CHECKING:
    from aflite_assets.diagnostics.evidence.kept_like_train import KeptShare

_FILTER_CHECKS = (
    ("target_size_kept", "The number of kept train rows is at least `target_size`.", True),
    ("removed_rows_predictable", "Every removed train row had a predictability of at least `threshold`.", True),
    ("test_kept_like_train", "In filtered test splits, rows were removed at the same rate as train rows.", False),
)
_LOAD_WITH = """```python
from datasets import load_dataset

folder = {folder!r}
load_dataset(folder, "filtered")
```"""
_SHOWN = [
    "iteration",
    "rows_in",
    "train_rows_in",
    "removed",
    "train_removed",
    "cutoff",
    "tied_at_cutoff",
    "representation_bias",
    "rows_per_class",
]
ITERATIONS = dg.MultiPartitionsDefinition(
    {"dataset": DATASETS, "iteration": dg.DynamicPartitionsDefinition(name="aflite_iteration")}
)


def report_iteration(context: dg.AssetExecutionContext, report: IterationRow) -> None:
    """Report one finished iteration to Dagster; reporting an iteration several times is allowed.

    If a dataset has several representations, the partition's name is the representation's name and the iteration's
    number.
    """
    several = len(dataset_spec(context.partition_key).filterings) > 1
    iteration = f"{report.representation}.{report.iteration:03d}" if several else f"{report.iteration:03d}"
    context.instance.add_dynamic_partitions("aflite_iteration", [iteration])
    elsewhere = ("iteration", "rows_in")
    metadata: dict[str, Any] = {
        "dagster/row_count": report.rows_in,
        **{name: value for name, value in asdict(report).items() if name not in elsewhere and value is not None},
        "dataset": context.partition_key,
        "run": context.run.run_id,
    }
    context.log_event(
        dg.AssetMaterialization(
            "iteration_sets",
            partition=dg.MultiPartitionKey({"dataset": context.partition_key, "iteration": iteration}),
            metadata=metadata,
        )
    )


def _shown_iterations(part: PublishedResult) -> list[dict[str, Any]]:
    iterations = pq.read_table(part.file("iterations.parquet"))
    words = [name for name in WORDS_RECORDED if name in iterations.column_names]
    return list(iterations.select([*_SHOWN, *words]).to_pylist())


def _in_small(part: PublishedResult) -> dg.MarkdownMetadataValue:
    rows = pq.read_table(part.file("iterations.parquet"), columns=["representation_bias", "train_rows_in"]).to_pylist()
    left = [row["train_rows_in"] / max(rows[0]["train_rows_in"], 1) for row in rows]
    return small_lines({"representation bias": [row["representation_bias"] for row in rows], "train rows left": left})


def _kept_shares(shares: Mapping[str, Sequence["KeptShare"]]) -> dict[str, dict[str, str]]:
    """Return, per representation and split, the share of kept rows and the largest difference that chance explains."""
    return {
        name: {
            kept.split: f"{100 * kept.share:.1f} %, train {100 * kept.train_share:.1f} %, "
            f"by chance +-{kept.by_chance:.1f}"
            for kept in split_shares
            if kept.label is None
        }
        for name, split_shares in shares.items()
    }


def _all_checks(run: AssetRun) -> list[dg.AssetCheckResult]:
    return [*_filter_checks(run.result), *found_checks(run)]


def _filter_checks(result: PublishedResult) -> list[dg.AssetCheckResult]:
    """Compute the outcomes of the asset's checks from the published rows of a new or reused result."""
    from aflite_assets.diagnostics.evidence.kept_like_train import KeptShare, kept_shares
    from aflite_assets.stages.shared.report_inputs import filtered_set

    shares: dict[str, tuple[KeptShare, ...]] = {}
    kept: dict[str, int] = {}
    lowest: dict[str, float] = {}
    settings: dict[str, Any] = {}
    for name, part in result.parts.items():
        filtered = filtered_set(name, part)
        train = filtered.rows["split"].to_numpy(zero_copy_only=False) == "train"
        stayed = filtered.rows["kept"].to_numpy(zero_copy_only=False)
        removed = filtered.rows["predictability"].to_numpy(zero_copy_only=False)[train & ~stayed]
        kept[name] = int((train & stayed).sum())
        lowest[name] = float(removed.min()) if len(removed) else 1.0
        settings[name] = filtered.settings
        shares[name] = kept_shares(filtered.rows, splits=filtered.filtered_splits)
    predictable = all(
        filter_settings["remove"] == "groups"
        or filter_settings["selection"] == "gumbel"
        or lowest[name] >= np.float32(filter_settings["threshold"])
        for name, filter_settings in settings.items()
    )
    large_enough = all(kept[name] >= filter_settings["target_size"] for name, filter_settings in settings.items())
    all_alike = all(share.alike for split_shares in shares.values() for share in split_shares)
    checks = [
        check("target_size_kept", large_enough, kept=kept),
        check("removed_rows_predictable", predictable, lowest_predictability_removed=lowest),
    ]
    if any(shares.values()):
        checks.append(check("test_kept_like_train", all_alike, warn=True, kept_shares=_kept_shares(shares)))
    return checks


@stage_asset(
    group="filtering",
    kinds={"numpy", "scikitlearn"},
    checks=_FILTER_CHECKS,
    find_checks=_all_checks,
    on_iteration=report_iteration,
    on_cluster=True,
)
def filtered_sets(run: AssetRun) -> dict[str, Any]:
    """The result of AFLite per representation: the kept rows, and the iteration in which each removed row was removed.

    If a run is stopped, the next run resumes the filter at its last checkpoint. `filtering_<representation>` is a small
    picture of representation bias and remaining train rows. Click [Show Markdown] in the metadata to see the full
    picture with axes, and the scores by iteration. The number of kept rows and the representation bias are plotted
    under Metadata, Plots.
    """
    if run.obtained.cached:  # the Dagster instance may not have the iterations
        progress = Progress(log=run.context.log.info, on_iteration=lambda each: report_iteration(run.context, each))
        for name, part in run.result.parts.items():
            report_iterations(name, part, progress)
    shown = ("iterations", "stop_reason", "bias_before", "bias_after")
    return {
        "outcome": table(
            {
                "representation": name,
                **{f"{split} rows kept": f"{kept} of {facts['rows'][split]}" for split, kept in facts["kept"].items()},
                **{field: facts[field] for field in shown},
            }
            for name, facts in run.summary.items()
        ),
        "dagster/row_count": next(iter(run.summary.values()))["kept"]["train"],
        **filter_numbers(run.result),
        **{f"filtering_{name}": _in_small(part) for name, part in run.result.parts.items()},
        **{f"iterations_{name}": table(_shown_iterations(part)) for name, part in run.result.parts.items()},
        **result_pictures(run.result),
    }


iteration_sets = dg.AssetSpec(
    "iteration_sets",
    group_name="filtering",
    owners=OWNERS,
    kinds={"numpy"},
    tags={"domain": "filtering"},
    code_version=STAGES["filtered_sets"].code_version,
    partitions_def=ITERATIONS,
    deps=["filtered_sets"],
    description=(
        "Every iteration of the filter, reported while the filter runs, for the plots of the UI. All datasets share "
        "the axis of the plots, and only the last 120 partitions are shown. Clear curves of one dataset are in the "
        "metadata of `filtered_sets` (`filtering_*` and `curve_*`), in MLflow (the nested run of the representation, "
        "below the run of `filtered_sets`), and in the report. A dataset with fewer iterations has missing "
        "partitions. If a second run has fewer iterations, the last iterations of the first run remain; `run` in an "
        "iteration's metadata is the id of the run that reported it."
    ),
)


@stage_asset(group="filtering", kinds={"parquet"})
def control_sets(run: AssetRun) -> dict[str, Any]:
    """Train sets of the filtered set's size that are chosen without the filter: at random, or in a single pass."""
    return {"controls": table({"representation": name, **facts} for name, facts in run.summary.items())}


@stage_asset(group="filtering", kinds={"parquet", "huggingface"})
def published_dataset(run: AssetRun) -> dict[str, Any]:
    """A folder with a dataset card, from which `datasets.load_dataset(folder, "filtered")` loads the kept rows."""
    folder = str(run.result.path)
    run.context.log.info(f"Open it with datasets.load_dataset({folder!r}, 'filtered')")
    rows, weights = run.summary["rows"], run.summary["weights"]
    return {
        "configurations": table({"configuration": name, **counts} for name, counts in rows.items()),
        "weights": table({"representation": name, **facts} for name, facts in weights.items()),
        "load_with": dg.MetadataValue.md(_LOAD_WITH.format(folder=folder)),
    }
