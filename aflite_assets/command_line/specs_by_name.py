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

    path = _path_of(name)
    return load_registry()[name] if path is None else load_spec(path)


def file_of(name: str) -> Path:
    """Return the YAML file of a registered dataset. If `name` is already a path, return the path.

    Raises:
        SpecError: no dataset has the name `name`.
    """
    from aflite_assets.specs.registry import BUNDLED, load_registry

    registry = load_registry()
    return _path_of(name) or registry.files.get(registry[name].name, BUNDLED / f"{name}.yaml")


def _path_of(name: str) -> Path | None:
    """Return the path of a YAML file, or None for the name of a dataset.

    Raises:
        SpecError: the file `NAME.yaml` does not exist, although a dataset `NAME` is registered.
    """
    from aflite_assets.specs.registry import load_registry

    path = Path(name)
    is_path = os.sep in name or path.suffix in (".yaml", ".yml")
    if not is_path and (not path.is_file() or is_dataset_name(name)):
        return None
    if not path.exists() and len(path.parts) == 1 and (file := load_registry().files.get(path.stem)) is not None:
        raise SpecError(
            f"there is no file {path.name} in this folder; write {path.stem} without the ending to use "
            f"{shown_path(file)}"
        )
    return path


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
