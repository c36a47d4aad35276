"""The check `up_to_date`: when the datasets were last checked, and which results are stale. It only warns.

It is one check of all datasets with a line for each stale one: Dagster's freshness policies ignore partitions, and
Dagster 1.13 accepts a sensor's evaluation of a check's partition only once.
"""

import hashlib
import json
from collections.abc import Sequence
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
    store, now = result_store.open(), datetime.now(UTC)
    plans = plan_datasets(load_registry(made=store.datasets()), store, hashes=FileHashes(most_bytes=MOST_BYTES))
    outcome, _ = evaluation([line for plan in plans for line in stale_lines(plan)], now=now)
    RefreshState.beside(store).note_check(now=now)
    return dg.AssetCheckResult(passed=outcome.passed, severity=outcome.severity, metadata=outcome.metadata)


def stale_lines(plan: DatasetPlan) -> list[str]:
    """Return a line for each stage of a dataset that was made before and is not what would be made now, with why."""
    if plan.failure is not None:
        return [f"{plan.dataset}: all: {plan.failure}"]
    return [
        f"{plan.dataset}: {stage.stage}: {'; '.join(map(str, stage.reasons[:_MOST_REASONS])) or stage.state}"
        for stage in plan.stages
        if stage.made_before and not stage.current
    ]


def evaluation(stale: Sequence[str], *, now: datetime) -> tuple[dg.AssetCheckEvaluation, str]:
    """Return the check's outcome as an event, and a mark that changes with the outcome and with the hour."""
    metadata = {
        "last_looked_at": now.astimezone(UTC).isoformat(timespec="seconds"),
        "stale": "\n".join(stale) or "none",
        "what_to_do": "`aflite plan NAME` says more; materialise what is stale" if stale else "none",
    }
    mark = hashlib.sha256(json.dumps([*stale, f"{now.astimezone(UTC):%Y-%m-%d %H}"]).encode()).hexdigest()[:6]
    key, severity = dg.AssetKey(ASSET), dg.AssetCheckSeverity.WARN
    return dg.AssetCheckEvaluation(key, NAME, passed=not stale, severity=severity, metadata=metadata), mark
