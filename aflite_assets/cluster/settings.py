"""Choice of the cluster: this process, or Ray at an address. The cluster is opened in `opening`."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from aflite_assets.address_secrets import shown_value
from aflite_assets.errors import InvalidInputError

Kind = Literal["local", "ray"]

_ADDRESS = re.compile(r"auto|local|(ray://)?[A-Za-z0-9_.\-\[\]:]+:\d+")


@dataclass(frozen=True)
class ClusterSettings:
    """`local`: all work is done in this process. `ray`: work is done on the nodes of the cluster at `address`.

    `address` is "auto" (the cluster that this machine belongs to), "local" (a cluster started on this machine for the
    duration of the step), the head's "host:port", or "ray://host:port" for Ray's client, whose log lines come with the
    results. `workers`: number of workers to request; None: as many as the cluster has room for. `cpus`: cores per
    worker; None: the threads of a step (`processors`). `gpus`: GPUs per worker for work of models; None: 1 if nodes
    have GPUs.

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
        """Whether work goes to a cluster of Ray."""
        return self.kind == "ray"

    @property
    def is_client(self) -> bool:
        """Whether Ray's client reaches the cluster, from a machine that is not one of its nodes."""
        return self.address is not None and self.address.startswith("ray://")

    def __str__(self) -> str:
        if not self.is_ray:
            return "this process"
        return "a Ray cluster on this machine" if self.address == "local" else f"the Ray cluster at {self.address}"
