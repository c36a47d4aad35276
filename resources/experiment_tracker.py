"""The tracker that stores all metrics."""

import os
from pathlib import Path

import dagster as dg
from pydantic import Field, PrivateAttr

from aflite_assets.addresses import check_addresses, dagster_run_page
from aflite_assets.paths import aflite_home
from aflite_assets.tracking import MlflowTracker, NullTracker, Tracker


class ExperimentTracker(dg.ConfigurableResource):
    """MLflow tracking in a database below `AFLITE_HOME` (the default) or on a server.

    If no address is configured, MLflow's variable `MLFLOW_TRACKING_URI` sets the address.
    """

    tracking_uri: str | None = Field(
        default=None,
        repr=False,
        description="an MLflow server or database; default: MLFLOW_TRACKING_URI, or SQLite below AFLITE_HOME. Dagster "
        "shows it as it is, so an address with a password belongs into the variable",
    )
    home: str | None = Field(default=None, description="folder that holds all state; default: AFLITE_HOME, or .aflite")
    enabled: bool = Field(default=True, description="whether anything is tracked at all")
    _run_id: str | None = PrivateAttr(default=None)
    _first_run_id: str | None = PrivateAttr(default=None)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Store the id of the Dagster run for the tags of MLflow's runs; refuse invalid addresses before any work."""
        check_addresses()
        self._run_id = context.run.run_id if context.run else None
        # A run's retries belong to the refresh that the first one began.
        self._first_run_id = (context.run.root_run_id or context.run.run_id) if context.run else None

    def open(self) -> Tracker:
        """Return the tracker, which does not depend on Dagster."""
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
        # MLflow shows a tag as text, its description with links.
        note = f"Made by [run {self._run_id[:8]} of Dagster]({page})."
        return {**tags, "dagster/run_url": page, "mlflow.note.content": note}
