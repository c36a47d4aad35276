"""Where alerts go."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from aflite_assets.notifying import Notifier
from aflite_assets.notifying.notifier import webhook_of_environment
from aflite_assets.paths import aflite_home


class NotifierResource(dg.ConfigurableResource):
    """A log by default, and a webhook of Slack's form where an environment variable holds its address.

    The address is a password, so it is no setting: settings of resources are shown in the UI.
    """

    webhook_variable: str = Field(
        default="AFLITE_ALERT_WEBHOOK", description="the environment variable that holds the webhook's address"
    )
    home: str | None = Field(default=None, description="folder that holds all state; default: AFLITE_HOME, or .aflite")

    def open(self) -> Notifier:
        """Return the notifier itself, which knows no Dagster."""
        home = Path(self.home).absolute() if self.home else aflite_home()
        return Notifier(home / "alerts", webhook_of_environment(self.webhook_variable))
