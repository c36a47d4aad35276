"""Settings of the cluster: this process only, or Ray at an address."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from aflite_assets.address_secrets import shown_value
from aflite_assets.errors import InvalidInputError

Kind = Literal["local", "ray"]

_ADDRESS = re.compile(r"auto|local|(ray://)?[A-Za-z0-9_.\-\[\]:]+:\d+")


@dataclass(frozen=True)
class ClusterSettings:
    """Settings of the cluster that does the work.

    Args:
        kind: `local` for work in this process only, `ray` for work on the nodes of a Ray cluster.
        address: one of "host:port" (the head node), "ray://host:port" (Ray's client), "auto" (the cluster to which this
            machine belongs) and "local" (a new cluster on this machine, which ends with the step). With Ray's client,
            log lines arrive only with the results.
        workers: number of workers to request; None for as many as the cluster has resources for.
        cpus: cores per worker; None for the number of threads of a step (`processors`).
        gpus: number of GPUs per worker for work with models. By default, a worker gets 1 GPU if nodes have GPUs.

    Raises:
        InvalidInputError: a value is invalid.
    """

    kind: Kind = "local"
    address: str | None = None
    workers: int | None = None
    cpus: int | None = None
    gpus: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InvalidInputError(
                f"`compute_cluster.kind` is {self.kind!r}, which is not a known kind; give one of "
                f"{', '.join(get_args(Kind))}"
            )
        if self.kind == "local" and self.address is not None:
            raise InvalidInputError(
                f"`compute_cluster.address` is {shown_value(self.address)}, but `compute_cluster.kind` is 'local'; set "
                "`kind` to 'ray', or leave `address` out"
            )
        if self.is_ray and self.address is None:
            object.__setattr__(self, "address", "auto")
        if self.address is not None and not _ADDRESS.fullmatch(self.address):
            raise InvalidInputError(
                f"`compute_cluster.address` is {shown_value(self.address)}, which is not an address; give 'auto', "
                "'local', ray://host:port, or the host:port that `ray start --head` prints"
            )
        for name, value, least in (("workers", self.workers, 1), ("cpus", self.cpus, 1), ("gpus", self.gpus, 0)):
            if value is not None and value < least:
                raise InvalidInputError(
                    f"`compute_cluster.{name}` is {value}; give a number of at least {least}, or leave the setting out"
                )

    @property
    def is_ray(self) -> bool:
        """True if the work is done on a Ray cluster."""
        return self.kind == "ray"

    @property
    def is_client(self) -> bool:
        """True if the address is for Ray's client, on a machine that is not a node of the cluster."""
        return self.address is not None and self.address.startswith("ray://")

    def __str__(self) -> str:
        if not self.is_ray:
            return "this process"
        return "a Ray cluster on this machine" if self.address == "local" else f"the Ray cluster at {self.address}"
