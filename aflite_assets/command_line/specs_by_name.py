"""Lookup of the dataset that a command's argument names, by YAML file or by the name of a registered dataset."""

import os
from pathlib import Path

from aflite_assets.errors import SpecError
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.yaml.safe_text import shown_path


def spec_of(name: str) -> DatasetSpec:
    """Return the spec of a dataset, given by its YAML file or by its registered name.

    Raises:
        SpecError: the YAML file is not valid, or no dataset has the name `name`.
    """
    from aflite_assets.specs.registry import load_registry, load_spec

    if not _is_file(name):
        return load_registry()[name]
    _check_is_here(Path(name))
    return load_spec(Path(name))


def file_of(name: str) -> Path:
    """Return the YAML file of a registered dataset. If `name` is already a path, return the path.

    Raises:
        SpecError: no dataset has the name `name`.
    """
    from aflite_assets.specs.registry import BUNDLED, load_registry

    if _is_file(name):
        _check_is_here(Path(name))
        return Path(name)
    registry = load_registry()
    spec = registry[name]
    return registry.files.get(spec.name, BUNDLED / f"{name}.yaml")


def _check_is_here(path: Path) -> None:
    """Raise an error if the file `NAME.yaml` does not exist, although a dataset `NAME` is registered."""
    from aflite_assets.specs.registry import load_registry

    if path.exists() or len(path.parts) > 1:
        return
    if (file := load_registry().files.get(path.stem)) is not None:
        raise SpecError(
            f"there is no file {path.name} in this folder; write {path.stem} without the ending to use "
            f"{shown_path(file)}"
        )


def is_dataset_name(name: str) -> bool:
    """Return True if `name` is the name of a listed or bundled dataset, even if a folder or file of the same name
    exists.

    A path of the same name is given as `./NAME`.
    """
    from aflite_assets.specs.registry import BUNDLED, load_registry

    if os.sep in name or Path(name).suffix:
        return False
    registry = load_registry()
    is_listed = name in registry.specs or name in {path.stem for path in registry.failures}
    return is_listed or (BUNDLED / f"{name}.yaml").is_file()


def same_name_note(name: str) -> str:
    """Return a sentence on a folder or file that has the name of the dataset and is not used, or ""."""
    if Path(name).suffix or not Path(name).exists():
        return ""
    return f"{name!r} is also a path in this folder: write ./{name} to use that path."


def _is_file(name: str) -> bool:
    path = Path(name)
    is_path = os.sep in name or path.suffix in (".yaml", ".yml")
    return is_path or (path.is_file() and not is_dataset_name(name))
