"""A Ray cluster of three node processes on this machine, for those who have Ray."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_QUICK = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_memory_monitor_refresh_ms": "0",
}
"""Loss is noticed in seconds instead of half a minute; other tests of this machine may need its memory."""


@dataclass
class Nodes:
    """A head without cores, and nodes with one core and one logical card each."""

    cluster: Any
    nodes: list[Any] = field(default_factory=list)

    @property
    def address(self) -> str:
        """The head's host and port."""
        return str(self.cluster.address)

    def add(self) -> None:
        """Start one more node."""
        self.nodes.append(self.cluster.add_node(num_cpus=1, num_gpus=1))

    def kill(self, number: int = 0) -> None:
        """End a node's process hard; what ran on it ends as soon as it notices."""
        _kill(self.nodes.pop(number), "raylet")

    def kill_head(self) -> None:
        """End the process that all nodes and drivers are connected to."""
        _kill(self.cluster.head_node, "gcs_server")


def _kill(node: Any, kind: str) -> None:
    for information in node.all_processes[kind]:
        os.kill(information.process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def three_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """A cluster for a file of tests; `AFLITE_HOME` is a folder that all its nodes see."""
    from ray.cluster_utils import Cluster  # type: ignore[import-not-found,unused-ignore]  # an extra

    with pytest.MonkeyPatch.context() as patch:
        for name, value in _QUICK.items():
            patch.setenv(name, value)
        patch.setenv("AFLITE_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("AFLITE_THREADS", "1")
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        head = {"num_cpus": 0, "num_gpus": 0, "include_dashboard": False}
        started = Nodes(Cluster(initialize_head=True, head_node_args=head))
        for _ in range(2):
            started.add()
        try:
            yield started
        finally:
            started.cluster.shutdown()
