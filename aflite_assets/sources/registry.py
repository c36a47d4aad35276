"""From YAML files to dataset specs: the folders of `AFLITE_DATASETS`, then the bundled ones. Opens no data."""

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from aflite_assets.errors import SpecError
from aflite_assets.sources.spec_messages import explain
from aflite_assets.sources.specs import DatasetSpec
from aflite_assets.sources.wording import did_you_mean

BUNDLED = Path(__file__).parent / "bundled"


@dataclass(frozen=True)
class Registry:
    """Every dataset that was understood, by name, and why the other files were not, by path."""

    specs: Mapping[str, DatasetSpec]
    files: Mapping[str, Path]
    failures: Mapping[Path, str]

    def __getitem__(self, name: str) -> DatasetSpec:
        if name not in self.specs:
            raise SpecError(
                f"no dataset is named {name!r}{did_you_mean(name, self.specs)} "
                f"(known: {sorted(self.specs)}; folders searched: {[str(folder) for folder in spec_folders()]})"
            )
        return self.specs[name]


def spec_folders() -> list[Path]:
    """The folders searched for specs: those of `AFLITE_DATASETS` (separated like `PATH`), then the bundled one."""
    named = [part for part in os.environ.get("AFLITE_DATASETS", "").split(os.pathsep) if part]
    return list(dict.fromkeys([*(_absolute_path(part, Path.cwd()) for part in named), BUNDLED]))


def load_registry() -> Registry:
    """Read every `*.yaml` and `*.yml` of the spec folders; a broken file is a failure of its own and nobody else's.

    A name that two files give is a failure of the second, which names both.
    """
    specs: dict[str, DatasetSpec] = {}
    files: dict[str, Path] = {}
    failures: dict[Path, str] = {}
    for folder in spec_folders():
        if not folder.is_dir():
            failures[folder] = f"AFLITE_DATASETS names {str(folder)!r}, which is not a folder; correct or remove it"
        for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
            try:
                spec = load_spec(path)
                if spec.name in specs:
                    raise SpecError(
                        f"{path}: the name {spec.name!r} is already taken by {files[spec.name]}; rename one"
                    )
            except SpecError as error:
                failures[path] = str(error)
            else:
                specs[spec.name], files[spec.name] = spec, path
    return Registry(specs, files, failures)


def load_spec(path: Path) -> DatasetSpec:
    """The dataset that one YAML file describes; relative paths in it are taken from the file's folder.

    Raises:
        SpecError: the file cannot be read, is not a YAML mapping, or says something the model refuses.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise SpecError(f"{path}: cannot be read as YAML: {error}") from error
    if not isinstance(content, dict):
        raise SpecError(f"{path}: a dataset is a mapping of keys, but the file holds {type(content).__name__}")
    content.setdefault("name", path.stem)
    if content["name"] != path.stem:
        raise SpecError(f"{path}: name is {content['name']!r}, but the file is {path.name!r}; make them the same")
    try:
        content = _absolute_paths(content, path.parent)
    except (OSError, RecursionError) as error:
        raise SpecError(f"{path}: a path in it cannot be followed: {error}; correct it") from error
    return parse_spec(content, where=str(path))


def parse_spec(content: Mapping[str, Any], *, where: str = "spec") -> DatasetSpec:
    """A spec from plain values.

    Raises:
        SpecError: names every refused field with its value, and for an unknown key or kind the nearest known one.
    """
    try:
        return DatasetSpec.model_validate(content)
    except ValidationError as error:
        raise SpecError("\n".join(f"{where}: {message}" for message in explain(error, DatasetSpec))) from None


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which by itself keeps the last of two equal keys and drops the first unsaid."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[tuple[str, str]] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} stands twice", key.start_mark)
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


def _absolute_paths(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make the files of sources and the local checkpoints of models independent of the working directory."""
    sources = [content, *_mappings(content.get("challenge_sets"))]
    for owner in sources:
        if isinstance(owner.get("source"), dict) and isinstance(owner["source"].get("splits"), dict):
            splits = {split: _absolute(files, folder) for split, files in owner["source"]["splits"].items()}
            owner["source"]["splits"] = splits
    for model in [*_mappings(content.get("representations")), *_mappings(content.get("evaluators"))]:
        checkpoint = model.get("checkpoint")
        if isinstance(checkpoint, str) and (checkpoint.startswith((".", "~")) or (folder / checkpoint).exists()):
            model["checkpoint"] = _absolute(checkpoint, folder)
    return content


def _absolute(files: Any, folder: Path) -> Any:
    if isinstance(files, str):
        return str(_absolute_path(files, folder))
    if isinstance(files, list):
        return [_absolute(name, folder) for name in files]
    if isinstance(files, dict):
        return {name: _absolute(value, folder) for name, value in files.items()}
    return files


def _absolute_path(name: str, folder: Path) -> Path:
    # os.path leaves `~nobody` as it is, where pathlib raises.
    return (folder / os.path.expanduser(name)).absolute()


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [item for item in value.values() if isinstance(item, dict)] if isinstance(value, dict) else []
