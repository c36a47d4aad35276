"""What is wrong in a Dagster instance: dead runs, a database that lacks a migration, more GPU slots than GPUs."""

import dagster as dg

from aflite_assets.automation.dead_runs import end_dead_run, find_dead_runs
from aflite_assets.results.doctor import Ailment

GPU_POOL = "gpu"


def examine_instance(*, devices: int, fix: bool) -> list[Ailment]:
    """Everything that is wrong in the instance that `DAGSTER_HOME` names; `devices`: GPUs of this machine.

    With `fix`, runs without a process are ended, where nobody but this machine uses the instance.
    """
    with dg.DagsterInstance.get() as instance:
        lacking = _migrations(instance)
        if lacking:  # what else there is cannot be read
            return lacking
        return [*_dead(instance, fix), *_slots(instance, devices)]


def _migrations(instance: dg.DagsterInstance) -> list[Ailment]:
    found = []
    for name, storage in (
        ("runs", instance.run_storage),
        ("events", instance.event_log_storage),
        ("schedules", instance.schedule_storage),
    ):
        version = None if storage is None else storage.alembic_version()
        if version is not None and version[0] not in (None, version[1]):
            found.append(
                Ailment(
                    "Dagster's database",
                    f"its {name} have schema {version[0]}, the installed Dagster reads {version[1]}",
                    "stop webserver and daemon, copy the database, then run `dagster instance migrate`",
                )
            )
    return found


def _dead(instance: dg.DagsterInstance, fix: bool) -> list[Ailment]:
    shared = _on_a_server(instance)
    found = []
    for dead in find_dead_runs(instance):
        mend = fix and not shared
        if mend:
            end_dead_run(instance, dead)
        elsewhere = " on this machine; end it in the UI if no other machine runs it" if shared else ""
        found.append(
            Ailment(
                "dead run",
                f"run {dead.run.run_id} of {dead.run.job_name} ({dead.partition}) is going on for Dagster, "
                f"but its process {', '.join(map(str, dead.pids))} is gone{elsewhere}",
                "end it in the UI, or with --fix" if not shared else "terminate it in the UI",
                mend,
            )
        )
    return found


def _on_a_server(instance: dg.DagsterInstance) -> bool:
    """Whether the runs lie in a server's database, which other machines may use too, and in no file of this one."""
    if not instance.is_persistent:
        return False
    reference = instance.get_ref()
    storages = (reference.storage_data, reference.run_storage_data)
    return any(one is not None and "sqlite" not in one.class_name.lower() for one in storages)


def _slots(instance: dg.DagsterInstance, devices: int) -> list[Ailment]:
    limits = {one.name: one.limit for one in instance.event_log_storage.get_pool_limits()}
    pools = instance.get_concurrency_config().pool_config
    slots = limits.get(GPU_POOL, pools.default_pool_limit)
    most = max(1, devices)
    if slots is None:
        what = f"the pool {GPU_POOL!r} has no limit, and this machine {devices} GPUs"
    elif slots > most:
        what = f"the pool {GPU_POOL!r} has {slots} slots, and this machine {devices} GPUs"
    else:
        return []
    return [Ailment("slots of pool gpu", what, f"run `dagster instance concurrency set {GPU_POOL} {most}`")]
