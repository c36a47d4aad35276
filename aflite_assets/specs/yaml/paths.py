"""Conversion of the paths in a dataset's YAML file to absolute paths, relative to the file's folder."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from aflite_assets.specs.models.studies import with_models

_Change = Callable[[object], object]


def absolute_path(name: str, folder: Path) -> Path:
    """Resolve `name` relative to `folder` and return an absolute path. `~` and `~user` are expanded if the user is
    known.
    """
    # os.path leaves `~nobody` as it is, where pathlib raises.
    return (folder / os.path.expanduser(name)).absolute()


def absolute_paths(content: Mapping[str, object], folder: Path) -> dict[str, object]:
    """Return the content with absolute paths: paths of local checkpoints, sources, annotations and word vectors.

    A checkpoint is interpreted as a path if it begins with `.` or `~`, or if the file or its parent folder exists. The
    splits of a hub source are never paths. Values that cannot be paths are left unchanged, so that validation reports
    them.
    """

    def owner(value: object) -> object:
        return _changed(value, {"source": source, "annotations": annotations})

    def source(value: object) -> object:
        is_hub = isinstance(value, Mapping) and value.get("format") == "hub"
        return (
            value
            if is_hub
            else _changed(value, {"splits": lambda splits: _each(splits, path), "images": path, "table": source})
        )

    def annotations(value: object) -> object:
        return _changed(value, {"files": path})

    def model(value: object) -> object:
        return _changed(value, {"vectors": path} | dict.fromkeys(("checkpoint", "contextual"), checkpoint))

    def studied(value: object) -> object:
        changed = {"model": model}
        return _changed(value, changed) if isinstance(value, Mapping) and "model" in value else _each(value, named)

    def named(value: object) -> object:
        return _changed(value, {"model": model})

    def checkpoint(name: object) -> object:
        return path(name) if _is_local(name, folder) else name

    def path(value: object) -> object:
        if isinstance(value, str):
            return str(absolute_path(value, folder)) if _may_be_a_path(value) else value
        return _each(value, path)

    parts: dict[str, _Change] = {name: lambda value: _each(value, model) for name in ("representations", "evaluators")}
    parts |= dict.fromkeys(with_models(), studied)
    parts["distance_encoder"] = model
    parts |= {"source": source, "annotations": annotations, "challenge_sets": lambda value: _each(value, owner)}
    return _with_changes(content, parts)


def _changed(value: object, changes: Mapping[str, _Change]) -> object:
    return _with_changes(value, changes) if isinstance(value, Mapping) else value


def _with_changes(content: Mapping[str, object], changes: Mapping[str, _Change]) -> dict[str, object]:
    """Return the mapping with changed values for some keys. The order of the keys is kept."""
    return {key: changes[key](inner) if key in changes else inner for key, inner in content.items()}


def _each(value: object, change: _Change) -> object:
    if isinstance(value, Mapping):
        return {key: change(inner) for key, inner in value.items()}
    return [change(inner) for inner in value] if isinstance(value, list | tuple) else value


def _is_local(name: object, folder: Path) -> bool:
    if not isinstance(name, str) or not _may_be_a_path(name):
        return False
    try:
        parent = Path(name).parent
        return (
            name.startswith((".", "~"))
            or (folder / name).exists()
            or (bool(parent.name) and (folder / parent).is_dir())
        )
    except OSError:  # longer than a file's name can be
        return False


def _may_be_a_path(name: str) -> bool:
    """Return True if the operating system accepts the text as a path."""
    return bool(name.strip()) and "\0" not in name and name.encode("utf-8", "replace").decode() == name
