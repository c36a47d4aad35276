"""Dagster resources: thin wrappers around plain Python code."""

from resources.compute_cluster import ComputeCluster
from resources.compute_device import ComputeDevice
from resources.experiment_tracker import ExperimentTracker
from resources.result_store import ResultStoreResource

__all__ = ["ComputeCluster", "ComputeDevice", "ExperimentTracker", "ResultStoreResource"]
