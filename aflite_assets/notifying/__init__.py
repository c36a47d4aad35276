"""Alerts to people, each sent once per changed input. Independent of Dagster."""

from aflite_assets.notifying.messages import Alert
from aflite_assets.notifying.notifier import Delivery, Notifier

__all__ = ["Alert", "Delivery", "Notifier"]
