"""Dagster's webserver behind a guard against web pages of other origins. What is shown there is Dagster's own."""
