"""Problems of a Dagster instance: dead runs, databases without a migration, more GPU slots than GPUs."""

import dagster as dg

from aflite_assets.assets.steps.card_slots import GPU_POOL
from aflite_assets.automation.dead_runs import describe, end_dead_runs, find_dead_runs
from aflite_assets.results.doctor import Problem


def examine_instance(*, devices: int, fix: bool) -> list[Problem]:
    """Return the problems of the instance in `DAGSTER_HOME`. `devices`: number of GPUs of this machine.

    With `fix`, dead runs of this machine are reported as failed.
    """
    with dg.DagsterInstance.get() as instance:
        # An instance without a migration cannot be read further.
        return _migrations(instance) or [*_dead(instance, fix), *_slots(instance, devices)]


def _migrations(instance: dg.DagsterInstance) -> list[Problem]:
    runs, events, schedules = instance.run_storage, instance.event_log_storage, instance.schedule_storage
    storages = (("runs", runs), ("events", events), ("schedules", schedules))
    versions = [(name, storage.alembic_version()) for name, storage in storages if storage is not None]
    remedy = "stop webserver and daemon, copy the database, then run `dagster instance migrate`"
    return [
        Problem("Dagster's database", f"its {name} have schema {version[0]}, Dagster reads {version[1]}", remedy)
        for name, version in versions
        if version is not None and version[0] not in (None, version[1])
    ]


def _dead(instance: dg.DagsterInstance, fix: bool) -> list[Problem]:
    dead = end_dead_runs(instance) if fix else find_dead_runs(instance)
    what = "{}, yet Dagster shows it as running"
    return [Problem("dead run", what.format(describe(run)), "end it with --fix", fix) for run in dead]


def _slots(instance: dg.DagsterInstance, devices: int) -> list[Problem]:
    limits = {limit.name: limit.limit for limit in instance.event_log_storage.get_pool_limits()}
    slots = limits.get(GPU_POOL, instance.get_concurrency_config().pool_config.default_pool_limit)
    most = max(1, devices)
    if slots is not None and slots <= most:
        return []
    has = "no limit" if slots is None else f"{slots} slots"
    what = f"the pool {GPU_POOL!r} has {has}, and this machine {devices} GPUs"
    return [Problem("slots of pool gpu", what, f"run `dagster instance concurrency set {GPU_POOL} {most}`")]
