"""Conversion of stored predictions to tables, figures, the report (as HTML and as JSON) and the dataset card.

The package `reports` does not access the store and does not import Dagster.
"""
