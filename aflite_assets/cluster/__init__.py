"""Distribution of work to workers, which run either in this process or on the nodes of a Ray cluster.

The stages of the pipeline define what the workers do.
"""

from aflite_assets.cluster.arrays import map_or_share
from aflite_assets.cluster.opening import open_cluster
from aflite_assets.cluster.protocol import Cluster, Needs, Shared, Work, Workers, map_in_order
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
