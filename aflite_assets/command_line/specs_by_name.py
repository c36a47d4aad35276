"""The dataset that a command's argument names: a YAML file, or a dataset of the registry."""

from pathlib import Path

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
    return load_registry()[name]
