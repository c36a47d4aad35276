"""The registry of datasets and Dagster's partitions made of it, read once when definitions are loaded."""

import dagster as dg

from aflite_assets.specs.registry import Registry, load_registry

REGISTRY: Registry = load_registry()
"""The datasets known when the definitions were loaded; *Reload definitions* reads the folders again."""

DATASETS = dg.StaticPartitionsDefinition(sorted(REGISTRY.specs))
OWNERS = ["team:aflite"]

__all__ = ["DATASETS", "OWNERS", "REGISTRY"]
