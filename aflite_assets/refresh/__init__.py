"""Scheduled refreshes without Dagster: what changed, what is due, what was tried, and running it. Stages: `stages`."""
