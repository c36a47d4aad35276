"""Distribution of work to workers, which run either in this process or on the nodes of a Ray cluster.

The stages of the pipeline define what the workers do. Ray is imported only for a Ray cluster.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from aflite_assets.cluster.arrays import map_or_share
from aflite_assets.cluster.local import LocalCluster
from aflite_assets.cluster.protocol import Cluster, Log, Needs, Shared, Work, Workers, map_in_order
from aflite_assets.cluster.settings import ClusterSettings

__all__ = [
    "Cluster",
    "ClusterSettings",
    "Needs",
    "Shared",
    "Work",
    "Workers",
    "map_in_order",
    "map_or_share",
    "open_cluster",
]


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
