"""Assets of the group `data`: the registered datasets and their content."""

import dagster as dg
import pyarrow.parquet as pq

from aflite_assets.assets.common import (
    OWNERS,
    check,
    first_rows,
    found_checks,
    materialized,
    run_asset,
    stage_options,
    table,
)
from aflite_assets.assets.display.columns import column_metadata
from aflite_assets.assets.steps.optional_checks import asset_with_optional_checks
from aflite_assets.results import StoredResult
from aflite_assets.results.damage import find_damage
from aflite_assets.scan.sentences import headline
from aflite_assets.specs.registry import load_registry
from aflite_assets.specs.yaml.safe_text import shown_path
from aflite_assets.stages.data.cue_scan import read_scan
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.published import read_challenge_sets
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource

_INTACT = ("files_intact", "Published files have the content of the manifest.", True)


@dg.asset(
    group_name="data",
    kinds={"yaml"},
    owners=OWNERS,
    tags={"domain": "data"},
    check_specs=[
        dg.AssetCheckSpec(
            "specs_valid", asset="dataset_registry", description="The YAML file of every dataset is valid."
        )
    ],
)
def dataset_registry(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """List of the datasets' YAML files, with the error of each invalid file."""
    registry = load_registry()
    for path, reason in registry.failures.items():
        context.log.error(f"{shown_path(path)}: {reason}")
    failures = {shown_path(path): reason for path, reason in registry.failures.items()}
    return dg.MaterializeResult(
        metadata={
            "datasets": table(
                {"name": name, "title": spec.title, "file": shown_path(registry.files[name])}
                for name, spec in registry.specs.items()
            ),
            "failures": table({"file": path, "reason": reason} for path, reason in failures.items()),
        },
        check_results=[check("specs_valid", not failures, failures=failures)],
    )


@asset_with_optional_checks(**stage_options("raw_dataset", group="data", kinds={"parquet"}, checks=[_INTACT]))
def raw_dataset(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """The source as one table: ids, labels, groups and one kind of input.

    Rows without a label are dropped and counted.
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    summary = obtained.result.summary
    checks = _raw_checks(context, obtained, result_store)
    intact = next(result.passed for result in checks if result.check_name == "files_intact")
    metadata = {
        "dagster/row_count": sum(summary["rows"].values()),
        "rows": table({"split": split, **counts} for split, counts in summary["rows_per_class"].items()),
        "input": summary["modality"],
        "trial_run": summary["trial_run"],
        **{field: summary[field] for field in _SETTINGS_DONE if field in summary},
        **(column_metadata(obtained.result, result_store.open()) if intact else {}),
    }
    return materialized(obtained, metadata, checks)


_SETTINGS_DONE = ("annotations_left_out", "duplicates", "between_splits", "standardised")
"""Parts of the summary that exist only with some settings."""


@asset_with_optional_checks(**stage_options("challenge_sets", group="data", kinds={"parquet"}))
def challenge_sets(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Out-of-distribution test sets in the raw dataset's form, each with its category column and its own labels."""
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    challenges = read_challenge_sets(obtained.result)
    shown = ("rows", "source_rows", "unlabelled_rows", "label_names")
    metadata = {
        "sets": table(
            {
                "set": name,
                **{field: getattr(facts, field) for field in shown},
                "rows_to_fine_tune_on": 0 if facts.fine_tune is None else facts.fine_tune.rows,
            }
            for name, facts in challenges.sets.items()
        ),
        "missing": table({"set": name, "reason": reason} for name, reason in challenges.missing.items()),
        **column_metadata(obtained.result, result_store.open()),
    }
    return materialized(obtained, metadata, found_checks(obtained, result_store))


@asset_with_optional_checks(**stage_options("cue_scan", group="data", kinds={"parquet"}))
def cue_scan(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Properties of rows that predict the label by themselves, and the rows that have each property; no model is used.

    The check fails if the scan finds a property that cannot be part of any task. `docs/scan.md` explains how cues are
    found and tested.
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    metadata = {
        "found": headline(read_scan(obtained.result)),
        "surface_cues": first_rows(pq.read_table(obtained.result.file("surface_cues.parquet"))),
        **column_metadata(obtained.result, result_store.open()),
    }
    return materialized(obtained, metadata, found_checks(obtained, result_store))


def _raw_checks(
    context: dg.AssetExecutionContext, obtained: StoredResult, result_store: ResultStoreResource
) -> list[dg.AssetCheckResult]:
    damage = find_damage(obtained.result)
    if damage is not None:
        result_store.open().set_aside(damage, log=context.log.warning)
        damaged = list(damage.reasons)
        return [check("files_intact", False, damaged=damaged), *_skipped(damaged)]
    intact = check("files_intact", True, files=len(obtained.result.manifest["files"]))
    return [intact, *found_checks(obtained, result_store)]


def _skipped(damaged: list[str]) -> list[dg.AssetCheckResult]:
    checks = STAGES["raw_dataset"].checks
    return [
        check(name, False, warn=name not in checks.blocking, skipped=f"files are damaged: {damaged}")
        for name in checks.asks
    ]
