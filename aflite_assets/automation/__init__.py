"""Definitions that Dagster runs: jobs, sensors, schedules, the executor and the instance. Assets are in `assets`."""
