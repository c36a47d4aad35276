"""Dagster's webserver with its own pages, behind a guard against web pages of other origins."""
