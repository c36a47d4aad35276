"""Opening of the configured cluster; Ray is imported only for a Ray cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from aflite_assets.cluster.local import LocalCluster
from aflite_assets.cluster.protocol import Cluster, Log
from aflite_assets.cluster.settings import ClusterSettings


@contextmanager
def open_cluster(settings: ClusterSettings, *, log: Log) -> Iterator[Cluster]:
    """Yield the configured cluster, and close it after the block.

    Raises:
        ClusterError: the cluster cannot be reached, or Ray is not installed.
    """
    if not settings.is_ray:
        yield LocalCluster()
        return
    from aflite_assets.cluster.ray_cluster import open_ray

    with open_ray(settings, log=log) as cluster:
        yield cluster
