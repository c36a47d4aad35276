"""The cluster for work that is too large for one machine."""

import os
from typing import Literal

import dagster as dg
from pydantic import Field

from aflite_assets.cluster import ClusterSettings

CLUSTER = "AFLITE_CLUSTER"
"""The environment variable with the address of a cluster of Ray."""


class ComputeCluster(dg.ConfigurableResource):
    """Compute on this machine alone, or on a Ray cluster for extraction, filtering and the grid of evaluators.

    If no address is configured, the variable `AFLITE_CLUSTER` sets the address of a cluster.
    """

    kind: Literal["from_environment", "local", "ray"] = Field(
        default="from_environment",
        description="local: nothing of Ray is imported; from_environment: ray where AFLITE_CLUSTER is set",
    )
    address: str | None = Field(
        default=None,
        description="auto (this machine's cluster), local (one is started here), the head's host:port, or ray://host:port",
    )
    workers: int | None = Field(default=None, description="workers to ask for; default: as many as there is room for")
    cpus: int | None = Field(default=None, description="cores of each worker; default: the threads of a step")
    gpus: float | None = Field(
        default=None, description="GPUs of each worker of models; default: 1 where there are any"
    )

    def settings(self) -> ClusterSettings:
        """Return the settings as a plain record."""
        named = os.environ.get(CLUSTER) or None
        if self.kind == "local" or (self.kind == "from_environment" and not (self.address or named)):
            return ClusterSettings("local", self.address)
        return ClusterSettings("ray", self.address or named, self.workers, self.cpus, self.gpus)
