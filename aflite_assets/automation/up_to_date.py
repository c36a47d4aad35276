"""The check `up_to_date` of each dataset: when it was last looked at, and what is stale. A warning, and never blocking.

Dagster's freshness policies know no partitions, so that one dataset's run would make all others fresh.
"""

import hashlib
import json
import warnings
from datetime import UTC, datetime

import dagster as dg

from aflite_assets.assets.partitions import DATASETS
from aflite_assets.results.file_hashes import FileHashes
from aflite_assets.sources.registry import load_registry
from aflite_assets.stages.refresh_plan import DatasetPlan, plan_datasets
from aflite_assets.stages.refresh_state import RefreshState
from resources import ResultStoreResource

NAME = "up_to_date"
ASSET = "benchmark_report"
MOST_BYTES = 4 << 30
_MOST_REASONS = 3
_DESCRIPTION = (
    "Every stage that was made is what it would be made of now. Evaluated after a run, and by the sensor `refresh` "
    "when that changes, and each hour."
)

with warnings.catch_warnings():
    # Partitions of checks are a preview; constraints.txt pins the version that has them so.
    warnings.simplefilter("ignore", dg.PreviewWarning)

    @dg.asset_check(asset=ASSET, name=NAME, description=_DESCRIPTION, partitions_def=DATASETS)
    def up_to_date(context: dg.AssetCheckExecutionContext, result_store: ResultStoreResource) -> dg.AssetCheckResult:
        """Plan the partition's dataset, and note that it was looked at."""
        store = result_store.open()
        now = datetime.now(UTC)
        hashes = FileHashes(most_bytes=MOST_BYTES)
        (plan,) = plan_datasets(load_registry(), store, [context.partition_key], hashes=hashes)
        stale = tuple(one.stage for one in plan.stages if not one.current)
        RefreshState.beside(store).note_look(plan.dataset, now=now, stale=stale)
        passed, metadata = outcome(plan, now=now)
        return dg.AssetCheckResult(passed=passed, severity=dg.AssetCheckSeverity.WARN, metadata=metadata)


def outcome(plan: DatasetPlan, *, now: datetime) -> tuple[bool, dict[str, str]]:
    """Whether what was made of a dataset is what it would be now, and in words what is not."""
    behind = {
        one.stage: "; ".join(map(str, one.reasons[:_MOST_REASONS])) or one.state
        for one in plan.stages
        if one.made_before and not one.current
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
    """The check's outcome as an event of its own, and a mark that is another one when it or the hour is.

    None for a dataset of which nothing was made.
    """
    if not any(one.made_before for one in plan.stages):
        return None, ""
    passed, metadata = outcome(plan, now=now)
    mark = json.dumps([metadata["stale"], f"{now.astimezone(UTC):%Y-%m-%d %H}"])
    event = dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(ASSET),
        check_name=NAME,
        passed=passed,
        severity=dg.AssetCheckSeverity.WARN,
        metadata=metadata,
        partition=plan.dataset,
    )
    return event, hashlib.sha256(mark.encode()).hexdigest()[:8]


__all__ = ["evaluation", "outcome", "up_to_date"]
