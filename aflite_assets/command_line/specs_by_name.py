"""The dataset that a command's argument names: a YAML file, or a dataset of the registry."""

from pathlib import Path

from aflite_assets.errors import SpecError
from aflite_assets.specs.dataset import DatasetSpec


def spec_of(name: str) -> DatasetSpec:
    """Return the spec of a file, or of a registered name.

    Raises:
        SpecError: the file is not understood, or no dataset has this name.
    """
    from aflite_assets.specs.registry import load_registry, load_spec

    path = Path(name)
    if path.exists() or path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        return load_spec(path)
    registry = load_registry()
    for place, message in registry.failures.items():
        if place.stem == name and name not in registry.specs:
            raise SpecError(message)
    return registry[name]
