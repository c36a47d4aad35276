"""The schedule `nightly`: a run of every dataset at fixed times, for those who do not use the sensor `refresh`.

It does not watch sources: stages whose inputs are unchanged are found in each run. Switch on only one of the two.
"""

from collections.abc import Iterator

import dagster as dg

from aflite_assets.assets.steps.attempts import REFRESH_TAG
from aflite_assets.automation.jobs import benchmark_job
from aflite_assets.refresh.due import why_closed
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import load_registry
from aflite_assets.stages.pipeline import STAGES
from resources import ResultStoreResource

CRON = "0 3 * * *"


@dg.schedule(
    job=benchmark_job,
    cron_schedule=CRON,
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Runs the stages of every dataset that were made before, at three at night, UTC. For those who do "
    "not use the sensor `refresh`: switch on only one of the two.",
)
def nightly(context: dg.ScheduleEvaluationContext, result_store: ResultStoreResource) -> Iterator[dg.RunRequest]:
    """Request a run of each dataset with a result or `refresh: {start: true}`, unless its `refresh` settings forbid it
    now.
    """
    store = result_store.open()
    state = RefreshState.beside(store)
    now = context.scheduled_execution_time
    for name, spec in load_registry(made=store.datasets()).specs.items():
        closed = why_closed(spec.refresh, name, now=now, state=state)
        stages = list(STAGES) if spec.refresh != "never" and spec.refresh.start else begun(store, name)
        if closed is not None or not stages:
            if closed is not None and stages:
                context.log.info(f"{name}: {closed}")
            continue
        state.note_acted(name, until=now)
        run = f"{name}:{now:%Y-%m-%dT%H:%M}"
        yield dg.RunRequest(
            run_key=run,
            partition_key=name,
            asset_selection=[dg.AssetKey(stage) for stage in stages],
            tags={REFRESH_TAG: run, "dagster/priority": "-1"},
        )


def begun(store: ResultStore, dataset: str) -> list[str]:
    """Return the stages that have a result, and all stages that these read."""
    wanted = {name for name in STAGES if store.current_key(name, dataset) is not None}
    for name in reversed(list(STAGES)):
        if name in wanted:
            wanted |= set(STAGES[name].input_names)
    return [name for name in STAGES if name in wanted]


__all__ = ["begun", "nightly"]
