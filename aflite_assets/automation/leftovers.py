"""Queued runs and listed partitions of datasets whose files were deleted, in a Dagster instance."""

from collections.abc import Iterable
from dataclasses import dataclass

import dagster as dg

from aflite_assets.assets.partitions import DATASETS
from aflite_assets.automation.runs_of_datasets import PARTITION_TAG
from aflite_assets.specs.registry import Registry

_WAITING = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED]


@dataclass(frozen=True)
class InstanceLeftovers:
    """Datasets whose files were deleted: listed partitions, and ids of queued runs by dataset."""

    listed: frozenset[str]
    queued: dict[str, list[str]]


def find_leftovers(registry: Registry) -> InstanceLeftovers:
    """Return the partitions and queued runs of datasets without a file, from the instance in `DAGSTER_HOME`."""
    with dg.DagsterInstance.get() as instance:
        queued: dict[str, list[str]] = {}
        for run in instance.get_runs(dg.RunsFilter(statuses=_WAITING)):
            if PARTITION_TAG in run.tags:
                queued.setdefault(run.tags[PARTITION_TAG], []).append(run.run_id)
        listed = registry.without_file(instance.get_dynamic_partitions(str(DATASETS.name)))
    return InstanceLeftovers(frozenset(listed), {name: queued[name] for name in registry.without_file(queued)})


def remove_leftovers(names: Iterable[str], found: InstanceLeftovers) -> None:
    """Cancel the queued runs of these datasets and remove their partitions; the history of their runs stays."""
    with dg.DagsterInstance.get() as instance:
        for name in names:
            for run_id in found.queued.get(name, []):
                run = instance.get_run_by_id(run_id)
                if run is not None and run.status in _WAITING:
                    instance.report_run_canceled(run, f"The file of dataset {name!r} was deleted.")
            if name in found.listed:
                instance.delete_dynamic_partition(str(DATASETS.name), name)
