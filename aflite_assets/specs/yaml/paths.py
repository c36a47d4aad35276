"""Conversion of the paths in a dataset's YAML file to absolute paths, relative to the file's folder."""

import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from aflite_assets.specs.models.studies import with_models

_FILES = {(place, key) for place in ("source", "table") for key in ("splits", "images")} | {("annotations", "files")}
_MODEL_FILES = ("checkpoint", "contextual", "vectors")


def names_a_file(location: tuple[int | str, ...]) -> bool:
    """Return True if the text at this location of a YAML file is a path, or can be one."""
    *_, last = location or ("",)
    return last in _MODEL_FILES or (bool(_FILES & set(pairwise(location))) and last not in ("encoding", "splits"))


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
    models = {"representations", "evaluators", "distance_encoder", *with_models()}
    places = {"source", "annotations", "challenge_sets"} | models

    def resolved(value: object, location: tuple[int | str, ...]) -> object:
        if isinstance(value, Mapping):
            fixed = {"splits"} if value.get("format") == "hub" else set()
            return {key: inner if key in fixed else resolved(inner, (*location, key)) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [resolved(inner, (*location, number)) for number, inner in enumerate(value)]
        if not isinstance(value, str) or not names_a_file(location) or not _may_be_a_path(value):
            return value
        if location[-1] in _MODEL_FILES and location[0] not in models:
            return value
        is_path = location[-1] not in ("checkpoint", "contextual") or _is_local(value, folder)
        return str(absolute_path(value, folder)) if is_path else value

    return {key: resolved(value, (key,)) if key in places else value for key, value in content.items()}


def _is_local(name: str, folder: Path) -> bool:
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
