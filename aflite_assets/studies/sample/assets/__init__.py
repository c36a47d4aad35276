"""Dagster asset of the study, and the meaning of the columns of its tables."""
