"""Metadata that Dagster's pages show of results: columns, numbers, pictures, links. No assets are defined here."""
