"""Experiment tracking with MLflow: logging by running stages. No algorithm, no results and no Dagster belong here."""

from aflite_assets.tracking.mlflow_tracker import MlflowTracker
from aflite_assets.tracking.protocol import NullTracker, RunReference, TrackedRun, Tracker
from aflite_assets.tracking.table_metrics import table_metrics, table_name

__all__ = [
    "MlflowTracker",
    "NullTracker",
    "RunReference",
    "TrackedRun",
    "Tracker",
    "table_metrics",
    "table_name",
]
