"""Runs of the due stages of a dataset: the request of one, and its execution in this process."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg

from aflite_assets.assets.steps.attempts import REFRESH_TAG
from aflite_assets.automation.instance import SETTINGS, prepare_instance
from aflite_assets.automation.runs_of_datasets import COMMAND, INPUTS_TAG, PARTITION_TAG, how_it_failed, last_run
from aflite_assets.automation.watched_versions import digest, inputs_of
from aflite_assets.paths import dagster_home
from aflite_assets.refresh.due import Due, LastRun
from aflite_assets.refresh.plan import DatasetPlan
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import Registry

BECAUSE_TAG = "aflite/because"
_ROOT = str(Path(__file__).parents[2])
"""Folder of the module `definitions`; Dagster would look for the module in the working directory first."""
_LONGEST_TAG = 300


def run_request(instance: dg.DagsterInstance, store: ResultStore, due: Due, inputs: str | None) -> dg.RunRequest:
    """Return the request for a run of the due stages and of all later stages, which might become due.

    Dagster starts no second run with the same key, which names the inputs of the due stages and the last success.
    """
    name = due.plan.dataset
    succeeded = dg.RunsFilter(tags={PARTITION_TAG: name}, statuses=[dg.DagsterRunStatus.SUCCESS])
    keys = [[stage.stage, stage.key, store.current_key(stage.stage, name)] for stage in due.stages]
    run = f"{name}:{digest([keys, instance.get_run_ids(succeeded, limit=1)])[:20]}"
    because = "; ".join(f"{stage.stage}: {reason}" for stage in due.stages for reason in stage.reasons)
    assets = [dg.AssetKey(stage) for stage in (*(stage.stage for stage in due.stages), *due.following)]
    tags = {REFRESH_TAG: run, BECAUSE_TAG: because[:_LONGEST_TAG], "dagster/priority": "-1"}
    if inputs is not None:
        tags[INPUTS_TAG] = inputs
    return dg.RunRequest(run, partition_key=name, asset_selection=assets, tags=tags)


def last_run_at_home(registry: Registry, plan: DatasetPlan) -> LastRun | None:
    """Return the last run of a planned dataset in the instance in `DAGSTER_HOME`, or None if it does not matter."""
    if plan.up_to_date:
        return None
    now, inputs = time.time(), inputs_of(registry[plan.dataset], plan)
    with opened_instance() as instance:
        return last_run(instance, plan.dataset, inputs, now=now, planned=now)


def run_here(
    store: ResultStore, spec: DatasetSpec, due: Due, *, run_config: Mapping[str, Any], by_hand: bool
) -> str | None:
    """Run the due stages in this process, as `dg launch` does; return how the run failed, or None if it succeeded.

    `by_hand`: whether stages run although they refused the same inputs before.

    Raises:
        KeyboardInterrupt: the run was interrupted.
    """
    with opened_instance() as instance:
        request = run_request(instance, store, due, inputs_of(spec, due.plan))
        tags = {**request.tags, PARTITION_TAG: spec.name, REFRESH_TAG: COMMAND}
        if by_hand:
            del tags[REFRESH_TAG]
        result = dg.execute_job(
            dg.build_reconstructable_job("definitions", "benchmark", reconstructor_working_directory=_ROOT),
            instance,
            run_config=run_config,
            tags=tags,
            asset_selection=request.asset_selection,
        )
        run = instance.get_run_by_id(result.run_id)
        assert run is not None
        if run.status == dg.DagsterRunStatus.CANCELED:
            raise KeyboardInterrupt
        return None if result.success else how_it_failed(instance, run)


@contextmanager
def opened_instance() -> Iterator[dg.DagsterInstance]:
    """Open the instance in `DAGSTER_HOME` or, if the variable is not set, an instance that is lost afterwards."""
    home = dagster_home()
    if home and not (home / SETTINGS.name).exists():
        prepare_instance(home)
    if home:
        opened = dg.DagsterInstance.get()
    else:
        opened = dg.DagsterInstance.ephemeral(settings={"python_logs": {"python_log_level": "INFO"}})
    with opened as instance:
        yield instance
