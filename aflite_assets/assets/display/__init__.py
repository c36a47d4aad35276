"""Metadata that Dagster's pages show for results: columns, numbers, pictures, links. No assets are defined here."""
