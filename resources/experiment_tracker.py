"""Where every metric goes."""

import os
from pathlib import Path

import dagster as dg
from pydantic import Field

from aflite_assets.home import aflite_home
from aflite_assets.tracking import MlflowTracker, NullTracker, Tracker


class ExperimentTracker(dg.ConfigurableResource):
    """MLflow: a database below `AFLITE_HOME` by default, a server by its address.

    `MLFLOW_TRACKING_URI`, MLflow's own variable, counts where no address is given here.
    """

    tracking_uri: str | None = Field(
        default=None,
        description="an MLflow server or database; default: MLFLOW_TRACKING_URI, or SQLite below AFLITE_HOME",
    )
    home: str | None = Field(default=None, description="folder that holds all state; default: AFLITE_HOME, or .aflite")
    enabled: bool = Field(default=True, description="whether anything is tracked at all")

    def open(self) -> Tracker:
        """The tracker itself, which knows no Dagster."""
        if not self.enabled:
            return NullTracker()
        uri = self.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or None
        return MlflowTracker(uri, Path(self.home).absolute() if self.home else aflite_home())
