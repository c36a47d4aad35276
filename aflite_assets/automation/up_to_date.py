"""The check `up_to_date`: when the datasets were last checked, and which results are stale. It only warns.

It is one check of all datasets with a line for each stale one: Dagster's freshness policies ignore partitions, and
Dagster 1.13 accepts a sensor's evaluation of a check's partition only once.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime

import dagster as dg

from aflite_assets.refresh.plan import DatasetPlan, plan_datasets
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results.file_hashes import FileHashes
from aflite_assets.specs.registry import load_registry
from resources import ResultStoreResource

NAME, ASSET = "up_to_date", "source_files"
MOST_BYTES = 4 << 30
_MOST_REASONS = 3


@dg.asset_check(
    asset=ASSET,
    name=NAME,
    description="Every stage of every dataset that was made is what it would be made of now. Evaluated by the sensor "
    "`refresh` when that changes and each hour, and by hand.",
)
def up_to_date(result_store: ResultStoreResource) -> dg.AssetCheckResult:
    """Plan all datasets, and record that they were looked at."""
    store = result_store.open()
    state = RefreshState.beside(store)
    now = datetime.now(UTC)
    stale: dict[str, dict[str, str]] = {}
    registry = load_registry(made=store.datasets())
    for plan in plan_datasets(registry, store, hashes=FileHashes(most_bytes=MOST_BYTES)):
        stale[plan.dataset] = stale_stages(plan)
        if plan.failure is None:
            state.note_look(plan.dataset, now=now)
    passed, metadata = outcome(stale, now=now)
    return dg.AssetCheckResult(passed=passed, severity=dg.AssetCheckSeverity.WARN, metadata=metadata)


def stale_stages(plan: DatasetPlan) -> dict[str, str]:
    """Return why each stage of a dataset that was made before is not what would be made now, by stage."""
    if plan.failure is not None:
        return {"all": plan.failure}
    return {
        stage.stage: "; ".join(map(str, stage.reasons[:_MOST_REASONS])) or stage.state
        for stage in plan.stages
        if stage.made_before and not stage.current
    }


def outcome(stale: Mapping[str, Mapping[str, str]], *, now: datetime) -> tuple[bool, dict[str, str]]:
    """Return whether no dataset has a stale stage, and the check's metadata; `stale`: reasons by dataset and stage."""
    lines = [f"{name}: {stage}: {why}" for name, stages in stale.items() for stage, why in stages.items()]
    return not lines, {
        "last_looked_at": now.astimezone(UTC).isoformat(timespec="seconds"),
        "stale": "\n".join(lines) or "none",
        "what_to_do": "`aflite plan NAME` says more; materialise what is stale" if lines else "none",
    }


def evaluation(stale: Mapping[str, Mapping[str, str]], *, now: datetime) -> tuple[dg.AssetCheckEvaluation, str]:
    """Return the check's outcome as an event, and a mark that changes with the outcome and with the hour."""
    passed, metadata = outcome(stale, now=now)
    mark = json.dumps([metadata["stale"], f"{now.astimezone(UTC):%Y-%m-%d %H}"])
    event = dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(ASSET),
        check_name=NAME,
        passed=passed,
        severity=dg.AssetCheckSeverity.WARN,
        metadata=metadata,
    )
    return event, hashlib.sha256(mark.encode()).hexdigest()[:6]


__all__ = ["evaluation", "outcome", "stale_stages", "up_to_date"]
