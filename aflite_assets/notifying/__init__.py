"""Texts of alerts to people, and posting of alerts to a webhook. Independent of Dagster."""

from aflite_assets.notifying.messages import Alert, chat_text, log_line, sentence
from aflite_assets.notifying.webhook import post_message

__all__ = ["Alert", "chat_text", "log_line", "post_message", "sentence"]
