"""Assets of the group `data`: the registered datasets and their content."""

from typing import Any

import dagster as dg
import pyarrow.parquet as pq

from aflite_assets.assets.common import (
    FILES_INTACT,
    OWNERS,
    AssetRun,
    check,
    first_rows,
    found_checks,
    stage_asset,
    table,
)
from aflite_assets.results.damage import find_damage
from aflite_assets.scan.sentences import headline
from aflite_assets.specs.registry import load_registry
from aflite_assets.specs.yaml.safe_text import shown_path
from aflite_assets.stages.data.cue_scan import read_scan
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.published import read_challenge_sets

_INTACT = (FILES_INTACT, "Published files have the content of the manifest.", True)


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


def _raw_checks(run: AssetRun) -> list[dg.AssetCheckResult]:
    damage = find_damage(run.result)
    if damage is None:
        return [check(FILES_INTACT, True, files=len(run.result.manifest["files"])), *found_checks(run)]
    run.store.set_aside(damage, log=run.context.log.warning)
    damaged, checks = list(damage.reasons), STAGES["raw_dataset"].checks
    skipped = f"files are damaged: {damaged}"
    return [
        check(FILES_INTACT, False, damaged=damaged),
        *(check(name, False, warn=name not in checks.blocking, skipped=skipped) for name in checks.asks),
    ]


@stage_asset(group="data", kinds={"parquet"}, checks=[_INTACT], find_checks=_raw_checks)
def raw_dataset(run: AssetRun) -> dict[str, Any]:
    """The source as one table: ids, labels, groups and one kind of input.

    Rows without a label are dropped and counted.
    """
    return {
        "dagster/row_count": sum(run.summary["rows"].values()),
        "rows": table({"split": split, **counts} for split, counts in run.summary["rows_per_class"].items()),
        "input": run.summary["modality"],
        "trial_run": run.summary["trial_run"],
        **{field: run.summary[field] for field in _SETTINGS_DONE if field in run.summary},
    }


_SETTINGS_DONE = ("annotations_left_out", "duplicates", "between_splits", "standardised")
"""Parts of the summary that exist only with some settings."""


@stage_asset(group="data", kinds={"parquet"})
def challenge_sets(run: AssetRun) -> dict[str, Any]:
    """Out-of-distribution test sets in the raw dataset's form, each with its category column and its own labels."""
    challenges = read_challenge_sets(run.result)
    shown = ("rows", "source_rows", "unlabelled_rows", "label_names")
    return {
        "sets": table(
            {
                "set": name,
                **{field: getattr(facts, field) for field in shown},
                "rows_to_fine_tune_on": 0 if facts.fine_tune is None else facts.fine_tune.rows,
            }
            for name, facts in challenges.sets.items()
        ),
        "missing": table({"set": name, "reason": reason} for name, reason in challenges.missing.items()),
    }


@stage_asset(group="data", kinds={"parquet"})
def cue_scan(run: AssetRun) -> dict[str, Any]:
    """Properties of rows that predict the label by themselves, and the rows that have each property; no model is used.

    The check fails if the scan finds a property that cannot be part of any task. `docs/scan.md` explains how cues are
    found and tested.
    """
    return {
        "found": headline(read_scan(run.result)),
        "surface_cues": first_rows(pq.read_table(run.result.file("surface_cues.parquet"))),
    }
