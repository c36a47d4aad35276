"""The checks `up_to_date_<dataset>`: when a dataset was last looked at, and what is stale. Warnings, never blocking.

Dagster's freshness policies ignore partitions: one dataset's run would make all others fresh. Each dataset has a check
of its own, since Dagster 1.13 accepts a sensor's evaluation of a check's partition only once (it keeps these unique by
check, partition and an empty run).
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg

from aflite_assets.assets.partitions import DATASETS
from aflite_assets.refresh.plan import DatasetPlan, plan_datasets
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results.file_hashes import FileHashes
from aflite_assets.specs.registry import load_registry
from resources import ResultStoreResource

ASSET = "source_files"
MOST_BYTES = 4 << 30
_PREFIX = "up_to_date_"
_MOST_REASONS = 3
_DESCRIPTION = (
    "Every stage of {} that was made is what it would be made of now. Evaluated by the sensor `refresh` when that "
    "changes and each hour, and by hand."
)


@dg.multi_asset_check(
    name="up_to_date",
    specs=[
        dg.AssetCheckSpec(f"{_PREFIX}{name}", asset=ASSET, description=_DESCRIPTION.format(name))
        for name in DATASETS.get_partition_keys()
    ],
    can_subset=True,
)
def up_to_date(
    context: dg.AssetCheckExecutionContext, result_store: ResultStoreResource
) -> Iterator[dg.AssetCheckResult]:
    """Plan the datasets whose checks were selected, and record that they were looked at."""
    store = result_store.open()
    state = RefreshState.beside(store)
    registry = load_registry()
    chosen = {key.name.removeprefix(_PREFIX): key for key in context.selected_asset_check_keys}
    names = [name for name in chosen if name in registry.specs]
    hashes = FileHashes(most_bytes=MOST_BYTES)
    plans = {plan.dataset: plan for plan in plan_datasets(registry, store, names, hashes=hashes)}
    for name, key in chosen.items():
        now = datetime.now(UTC)
        plan = plans.get(name) or DatasetPlan(name, (), failure="its file is gone, or was not understood")
        if plan.failure is None:
            stale = tuple(stage.stage for stage in plan.stages if not stage.current)
            state.note_look(name, now=now, stale=stale)
        passed, metadata = outcome(plan, now=now)
        yield dg.AssetCheckResult(
            passed=passed, asset_key=key.asset_key, check_name=key.name, severity=dg.AssetCheckSeverity.WARN,
            metadata=metadata,
        )  # fmt: skip


def outcome(plan: DatasetPlan, *, now: datetime) -> tuple[bool, dict[str, str]]:
    """Whether a dataset's results are what would be made now, and in words which are not."""
    behind = {
        stage.stage: "; ".join(map(str, stage.reasons[:_MOST_REASONS])) or stage.state
        for stage in plan.stages
        if stage.made_before and not stage.current
    }
    if plan.failure is not None:
        behind = {"all": plan.failure}
    return not behind, {
        "dataset": plan.dataset,
        "last_looked_at": now.astimezone(UTC).isoformat(timespec="seconds"),
        "stale": "\n".join(f"{stage}: {why}" for stage, why in behind.items()) or "none",
        "what_to_do": f"`aflite plan {plan.dataset}` says more; materialise what is stale" if behind else "none",
    }


def evaluation(plan: DatasetPlan, *, now: datetime) -> tuple[dg.AssetCheckEvaluation | None, str]:
    """The check's outcome as an event, and a mark that changes with the outcome and with the hour.

    None for a dataset without any result.
    """
    if plan.failure is None and not any(stage.made_before for stage in plan.stages):
        return None, ""
    passed, metadata = outcome(plan, now=now)
    mark = json.dumps([metadata["stale"], f"{now.astimezone(UTC):%Y-%m-%d %H}"])
    event = dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(ASSET),
        check_name=f"{_PREFIX}{plan.dataset}",
        passed=passed,
        severity=dg.AssetCheckSeverity.WARN,
        metadata=metadata,
    )
    return event, hashlib.sha256(mark.encode()).hexdigest()[:6]


__all__ = ["evaluation", "outcome", "up_to_date"]
