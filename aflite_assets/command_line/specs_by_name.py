"""The dataset that a command's argument names: a YAML file, or a dataset of the registry."""

from pathlib import Path

from aflite_assets.specs.dataset import DatasetSpec


def spec_of(name: str) -> DatasetSpec:
    """Return the spec of a file, or of a registered name.

    Raises:
        SpecError: the file is not understood, or no dataset has this name.
    """
    from aflite_assets.specs.registry import load_registry, load_spec

    return load_spec(Path(name)) if _is_file(name) else load_registry()[name]


def file_of(name: str) -> Path:
    """Return the YAML file of a registered name; a file's own path as it is.

    Raises:
        SpecError: no dataset has this name.
    """
    from aflite_assets.specs.registry import BUNDLED, load_registry

    if _is_file(name):
        return Path(name)
    registry = load_registry()
    spec = registry[name]
    return registry.files.get(spec.name, BUNDLED / f"{name}.yaml")


def _is_file(name: str) -> bool:
    path = Path(name)
    return path.exists() or path.suffix in (".yaml", ".yml") or len(path.parts) > 1
