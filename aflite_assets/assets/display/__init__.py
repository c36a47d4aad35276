"""Metadata that Dagster's pages show of results: columns, numbers, pictures, links. Defines no assets."""
