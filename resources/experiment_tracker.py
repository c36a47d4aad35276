"""Where every metric goes."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from aflite_assets.home import aflite_home
from aflite_assets.tracking import MlflowTracker, NullTracker, Tracker


class ExperimentTracker(dg.ConfigurableResource):
    """MLflow: a database below `AFLITE_HOME` by default, a server by its address."""

    tracking_uri: str | None = Field(
        default=None, description="an MLflow server or database; default: SQLite below AFLITE_HOME"
    )
    home: str | None = Field(default=None, description="folder that holds all state; default: AFLITE_HOME, or .aflite")
    enabled: bool = Field(default=True, description="whether anything is tracked at all")

    def open(self) -> Tracker:
        """The tracker itself, which knows no Dagster."""
        if not self.enabled:
            return NullTracker()
        return MlflowTracker(self.tracking_uri, Path(self.home).absolute() if self.home else aflite_home())
