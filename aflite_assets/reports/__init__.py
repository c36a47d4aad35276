"""Conversion of stored predictions to tables, figures, the HTML report, its JSON and the dataset card; no store, no
Dagster.
"""
