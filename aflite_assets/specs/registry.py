"""From YAML files to dataset specs: the folders of `AFLITE_DATASETS`, then the bundled ones. Opens no data."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from pydantic import ValidationError

from aflite_assets.errors import SpecError
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.yaml.messages import NAME_RULE, explain
from aflite_assets.specs.yaml.paths import absolute_path, absolute_paths
from aflite_assets.specs.yaml.reading import read_yaml
from aflite_assets.specs.yaml.safe_text import received_text, shown_path
from aflite_assets.specs.yaml.value_rules import check_values
from aflite_assets.wording import did_you_mean

BUNDLED = Path(__file__).parent / "bundled"

_NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")
_LONGEST = 4000


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
    return list(dict.fromkeys([*(absolute_path(part, Path.cwd()) for part in named), BUNDLED]))


def load_registry() -> Registry:
    """Read every `*.yaml` and `*.yml` of the spec folders; a broken file does not affect the others.

    A name that two files give is a failure of the second, which names both.
    """
    specs: dict[str, DatasetSpec] = {}
    files: dict[str, Path] = {}
    failures: dict[Path, str] = {}
    for folder in spec_folders():
        try:
            paths = _spec_files(folder)
        except SpecError as error:
            failures[folder] = str(error)
            continue
        for path in paths:
            try:
                spec = load_spec(path)
                if spec.name in specs:
                    raise SpecError(
                        f"{shown_path(path)}: the name {spec.name!r} is already taken by "
                        f"{shown_path(files[spec.name])}; rename one"
                    )
            except SpecError as error:
                failures[path] = str(error)
            else:
                specs[spec.name], files[spec.name] = spec, path
    return Registry(specs, files, failures)


def load_spec(path: Path) -> DatasetSpec:
    """The dataset that one YAML file describes; relative paths in it are taken from the file's folder.

    Variables (`${NAME}`) are those of the process.

    Raises:
        SpecError: the file cannot be read, is not a YAML mapping, or says something the model refuses. A secret's
            value is never in the message.
    """
    try:
        return _load(path)
    except SpecError:
        raise
    # One file must not take the others down, and what a hostile one leads to (no stack or memory left, a number out of
    # range) is raised in many types. Their texts may quote a secret.
    except Exception as error:
        reason = type(error).__name__
    raise SpecError(
        f"{shown_path(path)}: reading it ended in a {reason}, which no valid file leads to; simplify it (less nesting, "
        "shorter texts and numbers, no aliases) until it is read"
    )


def _load(path: Path) -> DatasetSpec:
    where = shown_path(path)
    content = read_yaml(path, environment=os.environ)
    if not isinstance(content, dict):
        raise SpecError(f"{where}: a dataset is a mapping of keys and values, but the file {_described(content)}")
    if not _NAME.fullmatch(path.stem):
        raise SpecError(f"{where}: name: {NAME_RULE} ({received_text(path.stem)}: the file's name); rename the file")
    name = content.setdefault("name", path.stem)
    if name != path.stem:
        raise SpecError(
            f"{where}: name: must be the file's name without its ending, {path.stem!r} ({received_text(name)}); "
            "rename the file, or leave the key out"
        )
    return parse_spec(absolute_paths(content, path.parent), where=where)


def parse_spec(content: Mapping[str, object], *, where: str = "spec") -> DatasetSpec:
    """A spec from plain values; paths in it are taken as they are, and a token is a `pydantic.SecretStr`.

    Raises:
        SpecError: names every refused field with its value, and for an unknown key or kind the nearest known one.
    """
    problems = check_values(content, DatasetSpec)
    messages = list(problems.values())
    spec = None
    try:
        spec = DatasetSpec.model_validate(content)
    except ValidationError as error:
        messages += explain(error, DatasetSpec, known=problems)
    # Raised here, the error carries none of pydantic's with it, which holds every value, secrets among them.
    if spec is None or messages:
        raise SpecError(_joined(messages, where))
    return spec


def _joined(messages: Sequence[str], where: str) -> str:
    """A line per message, as many as a person would read; how many are left out stands at the end."""
    lines = [f"{where}: {message}" for message in messages]
    lengths = accumulate(len(line) + 1 for line in lines)
    shown = max(1, sum(length <= _LONGEST for length in lengths))
    left_out = [f"and {len(lines) - shown} more"] if len(lines) > shown else []
    return "\n".join([*lines[:shown], *left_out])


def _spec_files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix.lower() in (".yaml", ".yml"))
    except (FileNotFoundError, NotADirectoryError):
        raise SpecError(f"AFLITE_DATASETS names {str(folder)!r}, which is not a folder; correct or remove it") from None
    except OSError as error:
        raise SpecError(
            f"AFLITE_DATASETS names {str(folder)!r}, which cannot be read ({error.strerror}); correct or remove it"
        ) from None


def _described(content: object) -> str:
    return "is empty" if content is None else f"holds {received_text(content).removeprefix('received ')}"
