"""Experiment tracking with MLflow: stages log parameters, metrics and files while they run.

This package contains no algorithm, reads no results, and does not use Dagster.
"""

from aflite_assets.tracking.mlflow_tracker import MlflowTracker
from aflite_assets.tracking.protocol import NullTracker, RunReference, TrackedRun, Tracker
from aflite_assets.tracking.table_metrics import table_metrics, table_name

__all__ = ["MlflowTracker", "NullTracker", "RunReference", "TrackedRun", "Tracker", "table_metrics", "table_name"]
