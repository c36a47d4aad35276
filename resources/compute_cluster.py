"""Dagster resource for the cluster that does work too large for one machine."""

import os
from typing import Literal

import dagster as dg
from pydantic import Field

from aflite_assets.cluster import ClusterSettings

CLUSTER = "AFLITE_CLUSTER"
"""Environment variable with the address of a Ray cluster."""


class ComputeCluster(dg.ConfigurableResource):
    """Settings for computing on this machine, or on a Ray cluster.

    A Ray cluster is used for embedding extraction, filtering and the grid of evaluators. If no address is configured,
    the environment variable `AFLITE_CLUSTER` is used.
    """

    kind: Literal["from_environment", "local", "ray"] = Field(
        default="from_environment",
        description="`local`: use this machine without importing Ray; `ray`: use a Ray cluster; `from_environment`: "
        "`ray` if `AFLITE_CLUSTER` is set, else `local`",
    )
    address: str | None = Field(
        default=None,
        description="`auto` for the Ray cluster to which this machine belongs, `local` to start one on this machine, "
        "host:port of the head node, or ray://host:port for Ray's client",
    )
    workers: int | None = Field(
        default=None, description="number of workers to request; default: as many as the cluster has resources for"
    )
    cpus: int | None = Field(default=None, description="cores of each worker; default: the threads of a step")
    gpus: float | None = Field(
        default=None, description="GPUs of each worker that runs models; default: 1 if the nodes have GPUs"
    )

    def settings(self) -> ClusterSettings:
        """Return the settings as a `ClusterSettings`, which does not depend on Dagster."""
        named = os.environ.get(CLUSTER) or None
        if self.kind == "local" or (self.kind == "from_environment" and not (self.address or named)):
            return ClusterSettings("local", self.address)
        return ClusterSettings("ray", self.address or named, self.workers, self.cpus, self.gpus)
