"""Assets of the group `data`: which datasets are known, and what they hold."""

import dagster as dg
import numpy as np

from aflite_assets.assets.common import OWNERS, check, materialized, run_asset, stage_options, table
from aflite_assets.results import PublishedResult
from aflite_assets.results.store import check_files
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.registry import load_registry
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource

_RAW_CHECKS = (
    ("files_intact", "Published files have the content of the manifest.", True),
    ("row_ids_unique", "Every row has an id of its own.", True),
    ("labels_known", "Every label is one of the classes, and train has at least two of them.", True),
    ("features_finite", "No feature is NaN or infinite; passes for texts and images, which have none.", True),
    ("no_repeats_across_splits", "No row outside train stands in train as well.", False),
    ("repeated_texts_grouped", "Train rows that share a text belong to a group.", False),
    ("all_rows_labelled", "No row of the source was dropped for want of a label.", False),
)


@dg.asset(
    group_name="data",
    kinds={"yaml"},
    owners=OWNERS,
    tags={"domain": "data"},
    check_specs=[
        dg.AssetCheckSpec("specs_valid", asset="dataset_registry", description="Every dataset's file was understood.")
    ],
)
def dataset_registry(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """Which dataset files were understood and which were not, and why. Reload definitions after changing a file."""
    registry = load_registry()
    for path, reason in registry.failures.items():
        context.log.error(f"{path}: {reason}")
    failures = {str(path): reason for path, reason in registry.failures.items()}
    return dg.MaterializeResult(
        metadata={
            "datasets": table(
                {"name": name, "title": spec.title, "file": str(registry.files[name])}
                for name, spec in registry.specs.items()
            ),
            "failures": table({"file": path, "reason": reason} for path, reason in failures.items()),
        },
        check_results=[check("specs_valid", not failures, failures=failures)],
    )


@dg.asset(**stage_options("raw_dataset", group="data", kinds={"parquet"}, checks=_RAW_CHECKS))
def raw_dataset(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """The source as one table: ids, labels, groups and one kind of input; rows without a label dropped and counted."""
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    summary = obtained.result.summary
    metadata = {
        "dagster/row_count": sum(summary["rows"].values()),
        "rows": table({"split": split, **counts} for split, counts in summary["rows_per_class"].items()),
        "input": summary["modality"],
        "trial_run": summary["trial_run"],
    }
    return materialized(obtained, metadata, _raw_checks(obtained.result))


@dg.asset(**stage_options("challenge_sets", group="data", kinds={"parquet"}))
def challenge_sets(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Out-of-distribution test sets in the raw dataset's form, each with its category column and its own labels."""
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    rows = obtained.result.summary["rows"]
    return materialized(obtained, {"sets": table({"set": name, "rows": count} for name, count in rows.items())})


def _raw_checks(result: PublishedResult) -> list[dg.AssetCheckResult]:
    from aflite_assets.sources.tables import load_examples

    damaged = check_files(result)
    if damaged:
        return [check("files_intact", False, damaged=damaged), *_skipped(damaged)]
    raw = load_examples(result.path)
    unique = len(np.unique(raw.row_ids))
    classes = len(np.unique(raw.in_split("train").labels))
    known = bool((raw.labels >= 0).all() and (raw.labels < len(raw.label_names)).all())
    finite = raw.modality != "features" or bool(np.isfinite(raw.features).all())
    dropped = result.summary["unlabelled_rows"]
    return [
        check("files_intact", True, files=len(result.manifest["files"])),
        check("row_ids_unique", unique == len(raw), rows=len(raw), ids=unique),
        check("labels_known", known and classes >= 2, classes_in_train=classes, classes=len(raw.label_names)),
        check("features_finite", finite, input=raw.modality),
        *_repeat_checks(raw),
        check("all_rows_labelled", not any(dropped.values()), warn=True, dropped=dropped),
    ]


def _repeat_checks(raw: Examples) -> list[dg.AssetCheckResult]:
    from aflite_assets.diagnostics.repeats import repeated_texts, repeats_across_splits

    across = repeats_across_splits(raw)
    shared = repeated_texts(raw) if raw.modality == "text" and raw.groups is None else ()
    advice = "remove them from the test split, or read its accuracy with them in mind" if across.rows else "none"
    return [
        check(
            "no_repeats_across_splits",
            across.rows == 0,
            warn=True,
            rows=across.rows,
            share=across.share,
            by_split=dict(across.by_split),
            row_ids=list(across.row_ids),
            what_to_do=advice,
        ),
        check(
            "repeated_texts_grouped",
            not shared,
            warn=True,
            columns={each.column: each.share for each in shared},
            what_to_do="name the shared column as columns.group" if shared else "none",
        ),
    ]


def _skipped(damaged: list[str]) -> list[dg.AssetCheckResult]:
    return [
        check(name, False, warn=not blocking, skipped=f"files are damaged: {damaged}")
        for name, _, blocking in _RAW_CHECKS[1:]
    ]
