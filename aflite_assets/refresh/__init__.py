"""Scheduled refreshes without Dagster: changed inputs, due stages, earlier failures, and the run of a dataset."""
