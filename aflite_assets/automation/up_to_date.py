"""The check `up_to_date`, which warns about stale results, with the time of the last check of all datasets.

One check covers all datasets, because Dagster's freshness policies ignore partitions, and Dagster 1.13 accepts only
one evaluation by a sensor for a partition of a check.
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
"""Most bytes hashed per check, because a sensor's tick may take a minute at most; the next check continues."""
_MOST_REASONS = 3


@dg.asset_check(
    asset=ASSET,
    name=NAME,
    description="Passes if every existing result of every dataset is current. The sensor `refresh` evaluates the check "
    "after each change and each hour; a person can evaluate it too.",
)
def up_to_date(result_store: ResultStoreResource) -> dg.AssetCheckResult:
    """Plan all datasets, and record the time of this check."""
    store, now = result_store.open(), datetime.now(UTC)
    plans = plan_datasets(load_registry(made=store.datasets()), store, hashes=FileHashes(most_bytes=MOST_BYTES))
    outcome, _ = evaluation([line for plan in plans for line in stale_lines(plan)], now=now)
    RefreshState.beside(store).note_check(now=now)
    return dg.AssetCheckResult(passed=outcome.passed, severity=outcome.severity, metadata=outcome.metadata)


def stale_lines(plan: DatasetPlan) -> list[str]:
    """Return a line with the reasons for each stage that has a result and is not current."""
    if plan.failure is not None:
        return [f"{plan.dataset}: all: {plan.failure}"]
    return [
        f"{plan.dataset}: {stage.stage}: {'; '.join(map(str, stage.reasons[:_MOST_REASONS])) or stage.state}"
        for stage in plan.stages
        if stage.made_before and not stage.current
    ]


def evaluation(stale: Sequence[str], *, now: datetime) -> tuple[dg.AssetCheckEvaluation, str]:
    """Return the outcome of the check, and a mark, which changes with the outcome and every hour."""
    metadata = {
        "last_looked_at": now.astimezone(UTC).isoformat(timespec="seconds"),
        "stale": "\n".join(stale) or "none",
        "what_to_do": "`aflite plan NAME` says more; materialise what is stale" if stale else "none",
    }
    mark = hashlib.sha256(json.dumps([*stale, f"{now.astimezone(UTC):%Y-%m-%d %H}"]).encode()).hexdigest()[:6]
    key, severity = dg.AssetKey(ASSET), dg.AssetCheckSeverity.WARN
    return dg.AssetCheckEvaluation(key, NAME, passed=not stale, severity=severity, metadata=metadata), mark
