"""Asset of the group `report`: the plan of a refresh, and the state of every dataset."""

import dagster as dg

from aflite_assets.assets.common import OWNERS, table
from aflite_assets.refresh.due import outlooks
from aflite_assets.refresh.state import RefreshState
from aflite_assets.refresh.status import dataset_status
from aflite_assets.results.file_hashes import FileHashes
from aflite_assets.specs.registry import load_registry
from resources import ResultStoreResource

MOST_BYTES = 16 << 30
"""Largest number of bytes to hash for one plan; the plan shows further datasets as waiting."""
_LONGEST_WHY = 400


@dg.asset(group_name="report", kinds={"table"}, owners=OWNERS, tags={"domain": "report"})
def refresh_plan(result_store: ResultStoreResource) -> dg.MaterializeResult:
    """Plan of a refresh with reasons, and the state of each dataset, as in `aflite plan` and `aflite status`.

    Failed and cancelled runs are in the list of runs, and not in this table.
    """
    store = result_store.open()
    registry = load_registry(made=store.datasets())
    due = list(outlooks(registry, store, hashes=FileHashes(most_bytes=MOST_BYTES)))
    plans = [each.plan for each in due]
    begun = [plan for plan in plans if plan.failure is not None or plan.begun]
    stages = [
        {
            "dataset": plan.dataset,
            "stage": stage.stage,
            "state": stage.state,
            "seconds last time": stage.seconds,
            "why": "; ".join(stage.reasons)[:_LONGEST_WHY],
        }
        for plan in begun
        for stage in plan.stages
        if not stage.current
    ]
    failures = [
        {"dataset": plan.dataset, "state": "refused", "why": plan.failure} for plan in begun if plan.failure is not None
    ]
    standing = [dataset_status(each, store) for each in due]
    return dg.MaterializeResult(
        metadata={
            "plan": table([*failures, *stages]),
            "status": table(
                {
                    "dataset": status.dataset,
                    "last made": status.made and f"{status.made:%Y-%m-%d %H:%M} UTC",
                    "stages": status.counts,
                    "megabytes": status.size / 1e6,
                    "needs you": "; ".join(status.troubles)[:_LONGEST_WHY],
                    "waits": "; ".join(status.waits)[:_LONGEST_WHY],
                }
                for status in standing
            ),
            "stages_to_make": len(stages),
            "datasets_up_to_date": sum(plan.up_to_date for plan in plans),
            "paused": RefreshState.beside(store).paused() or "no",
        }
    )


__all__ = ["refresh_plan"]
