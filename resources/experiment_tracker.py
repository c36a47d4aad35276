"""Dagster resource for the experiment tracker (MLflow), which stores all metrics."""

import os
from pathlib import Path

import dagster as dg
from pydantic import Field, PrivateAttr

from aflite_assets.addresses import check_addresses, dagster_run_page
from aflite_assets.paths import aflite_home
from aflite_assets.tracking import MlflowTracker, NullTracker, Tracker


class ExperimentTracker(dg.ConfigurableResource):
    """MLflow tracking in a database below `AFLITE_HOME` (the default) or on a server.

    If no address is configured, the environment variable `MLFLOW_TRACKING_URI` is used.
    """

    tracking_uri: str | None = Field(
        default=None,
        repr=False,
        description="address of an MLflow server or database; default: `MLFLOW_TRACKING_URI`, or an SQLite database "
        "below `AFLITE_HOME`. Dagster shows this setting, so use the variable for an address with a password",
    )
    home: str | None = Field(
        default=None, description="folder for all state of the project; default: `AFLITE_HOME`, or `.aflite`"
    )
    enabled: bool = Field(default=True, description="whether runs are tracked in MLflow")
    _run_id: str | None = PrivateAttr(default=None)
    _first_run_id: str | None = PrivateAttr(default=None)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Check the configured addresses, and store the id of the Dagster run for the tags of MLflow runs."""
        check_addresses()
        self._run_id = context.run.run_id if context.run else None
        # The retries of a run belong to the refresh that began with the first run.
        self._first_run_id = (context.run.root_run_id or context.run.run_id) if context.run else None

    def open(self) -> Tracker:
        """Return a tracker object that does not depend on Dagster."""
        if not self.enabled:
            return NullTracker()
        uri = self.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or None
        home = Path(self.home).absolute() if self.home else aflite_home()
        return MlflowTracker(uri, home, tags=self._tags(), refresh=self._first_run_id)

    def _tags(self) -> dict[str, str]:
        if self._run_id is None:
            return {}
        tags = {"dagster/run_id": self._run_id}
        page = dagster_run_page(self._run_id)
        if page is None:
            return tags
        # MLflow shows tags as plain text, but renders links in the description of a run.
        note = f"Made by [run {self._run_id[:8]} of Dagster]({page})."
        return {**tags, "dagster/run_url": page, "mlflow.note.content": note}
