"""Telling people what happened, once for each changed input. Nothing here knows Dagster."""

from aflite_assets.notifying.messages import Alert
from aflite_assets.notifying.notifier import Delivery, Notifier

__all__ = ["Alert", "Delivery", "Notifier"]
