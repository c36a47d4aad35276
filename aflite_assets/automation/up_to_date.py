"""The check `up_to_date`, which warns about stale results of any dataset, with the time of the last check.

One check covers all datasets, because Dagster's freshness policies ignore partitions, and Dagster 1.13 accepts only
one evaluation by a sensor for a partition of a check.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg

from aflite_assets.refresh.plan import DatasetPlan, plan_datasets
from aflite_assets.results.file_hashes import FileHashes
from aflite_assets.specs.registry import load_registry
from resources import ResultStoreResource

MOST_BYTES = 4 << 30
"""Most bytes hashed per check, because a sensor's tick may take a minute at most; the next check continues."""
_NAME, _ASSET = "up_to_date", "source_files"


@dg.asset_check(asset=_ASSET, name=_NAME, description="Passes if every existing result of every dataset is current.")
def up_to_date(result_store: ResultStoreResource) -> dg.AssetCheckResult:
    """Plan all datasets once. The sensor `refresh` evaluates the same check after each change and each hour."""
    store = result_store.open()
    plans = plan_datasets(load_registry(made=store.datasets()), store, hashes=FileHashes(most_bytes=MOST_BYTES))
    found = evaluation([line for plan in plans for line in stale_lines(plan)], now=datetime.now(UTC))
    return dg.AssetCheckResult(passed=found.passed, severity=found.severity, metadata=found.metadata)


def stale_lines(plan: DatasetPlan) -> list[str]:
    """Return a line with the reasons for each stage that has a result and is not current."""
    if plan.failure is not None:
        return [f"{plan.dataset}: all: {plan.failure}"]
    stale = (stage for stage in plan.stages if stage.made_before and not stage.current)
    return [f"{plan.dataset}: {one.stage}: {'; '.join(one.reasons[:3]) or one.state}" for one in stale]


def evaluation(stale: Sequence[str], *, now: datetime) -> dg.AssetCheckEvaluation:
    """Return the outcome of the check for the lines of `stale_lines` of all datasets."""
    metadata = {
        "last_looked_at": now.astimezone(UTC).isoformat(timespec="seconds"),
        "stale": "\n".join(stale) or "none",
        "what_to_do": "`aflite plan NAME` says more; materialise what is stale" if stale else "none",
    }
    key, severity = dg.AssetKey(_ASSET), dg.AssetCheckSeverity.WARN
    return dg.AssetCheckEvaluation(key, _NAME, passed=not stale, severity=severity, metadata=metadata)
