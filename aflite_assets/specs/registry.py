"""Loading of dataset specs from the folders in `AFLITE_DATASETS`, and of bundled datasets on request. This module reads
no data files.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from pydantic import ValidationError

from aflite_assets.errors import InvalidInputError, SpecError
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.yaml.messages import NAME_RULE, explain
from aflite_assets.specs.yaml.paths import absolute_path, absolute_paths
from aflite_assets.specs.yaml.reading import read_yaml
from aflite_assets.specs.yaml.safe_text import received_text, shown_path
from aflite_assets.specs.yaml.value_rules import check_values
from aflite_assets.wording import did_you_mean

BUNDLED = Path(__file__).parent / "bundled"
"""Folder of the bundled datasets. Bundled datasets are always found by name, and are listed on request."""
LIST_BUNDLED = "AFLITE_BUNDLED"
"""Environment variable that sets whether bundled datasets are listed: 1, or 0 (the default)."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")
_LONGEST = 4000


@dataclass(frozen=True)
class Registry:
    """Listed datasets with their files, by name, and error messages about invalid files, by path.

    A bundled dataset is found by its name even if it is not listed.
    """

    specs: Mapping[str, DatasetSpec]
    files: Mapping[str, Path]
    failures: Mapping[Path, str]

    def __getitem__(self, name: str) -> DatasetSpec:
        if name in self.specs:
            return self.specs[name]
        for path, message in self.failures.items():
            if path.stem == name:
                raise SpecError(message)
        bundled = {path.stem: path for path in BUNDLED.glob("*.yaml")}
        if name in bundled:
            return load_spec(bundled[name])
        raise SpecError(
            f"no dataset is named {name!r}{did_you_mean(name, [*self.specs, *bundled])} (known: {sorted(self.specs)}; "
            f"folders searched: {[str(folder) for folder in spec_folders()]}; `aflite list --bundled` lists the "
            "bundled datasets)"
        )

    def without_file(self, names: Iterable[str]) -> list[str]:
        """Return the sorted names of datasets without a YAML file. Prune may remove the results of datasets without a
        file.

        If no folder is set or a folder cannot be read, the result is empty, because the files may still exist.
        """
        folders = spec_folders()
        if not folders or any(folder in self.failures for folder in folders):
            return []
        return sorted(set(names) - self.specs.keys() - {path.stem for path in self.failures})


def spec_folders() -> list[Path]:
    """Return the folders in `AFLITE_DATASETS` (separated as in `PATH`), followed by the bundled folder if
    `AFLITE_BUNDLED` is 1.

    Raises:
        InvalidInputError: `AFLITE_BUNDLED` is neither 0 nor 1.
    """
    named = [part for part in os.environ.get("AFLITE_DATASETS", "").split(os.pathsep) if part]
    listed = os.environ.get(LIST_BUNDLED, "").strip()
    if listed not in ("", "0", "1"):
        raise InvalidInputError(
            f"`{LIST_BUNDLED}` is {listed!r}, but only 0 and 1 are allowed; set it to 1 to list the bundled datasets"
        )
    bundled = [BUNDLED] if listed == "1" else []
    return list(dict.fromkeys([*(absolute_path(part, Path.cwd()) for part in named), *bundled]))


def load_registry(*, made: Iterable[str] = ()) -> Registry:
    """Read all `*.yaml` and `*.yml` files in the spec folders. An invalid file does not affect the other files.

    If two files define the same name, the second file is rejected, and the error message contains both paths. Bundled
    datasets are also listed if their names are in `made`, the names of datasets with results.

    Raises:
        InvalidInputError: `AFLITE_BUNDLED` is neither 0 nor 1.
    """
    failures: dict[Path, str] = {}
    wanted: dict[Path, Iterable[Path]] = {}
    for folder in (folders := spec_folders()):
        try:
            wanted[folder] = _spec_files(folder)
        except SpecError as error:
            failures[folder] = str(error)
    if BUNDLED not in folders:
        taken = {path.stem for paths in wanted.values() for path in paths}
        wanted[BUNDLED] = [path for path in _spec_files(BUNDLED) if path.stem in set(made) - taken]
    return _read([path for paths in wanted.values() for path in paths], failures)


def bundled_registry() -> Registry:
    """Read the bundled datasets, regardless of `AFLITE_BUNDLED`."""
    return _read(_spec_files(BUNDLED), {})


def _read(paths: Iterable[Path], failures: dict[Path, str]) -> Registry:
    """Return the registry of the given files. Errors about invalid files are added to `failures`."""
    specs: dict[str, DatasetSpec] = {}
    files: dict[str, Path] = {}
    for path in paths:
        try:
            spec = load_spec(path)
            if spec.name in specs:
                raise SpecError(
                    f"{shown_path(path)}: the name {spec.name!r} already belongs to {shown_path(files[spec.name])}; "
                    "rename one of the two files"
                )
        except SpecError as error:
            failures[path] = str(error)
        else:
            specs[spec.name], files[spec.name] = spec, path
    return Registry(specs, files, failures)


def load_spec(path: Path) -> DatasetSpec:
    """Return the spec from a YAML file. Relative paths in the file are resolved against the file's folder.

    Variables (`${NAME}`) are replaced by environment variables.

    Raises:
        SpecError: the file cannot be read, is not a YAML mapping, or has invalid content. The message never contains
            the value of a secret.
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
        f"{shown_path(path)}: the file cannot be read because of a {reason}, which no valid file causes; simplify the "
        "file (less nesting, shorter texts and numbers, no aliases)"
    )


def _load(path: Path) -> DatasetSpec:
    where = shown_path(path)
    content = read_yaml(path, environment=os.environ)
    if not isinstance(content, dict):
        raise SpecError(f"{where}: the file must contain a mapping of keys and values, but it {_described(content)}")
    if not _NAME.fullmatch(path.stem):
        raise SpecError(
            f"{where}: the file's name is not a valid dataset name ({received_text(path.stem)}); rename the file "
            f"({NAME_RULE})"
        )
    name = content.setdefault("name", path.stem)
    if name != path.stem:
        raise SpecError(
            f"{where}: `name` must be the file's name without its ending, {path.stem!r} ({received_text(name)}); "
            "rename the file, or remove `name`"
        )
    return parse_spec(absolute_paths(content, path.parent), where=where)


def parse_spec(content: Mapping[str, object], *, where: str = "spec") -> DatasetSpec:
    """Return a spec from plain values. Paths are not changed. A token must be a `pydantic.SecretStr`.

    Raises:
        SpecError: values are invalid. The message lists every invalid field with its value. For an unknown key or kind,
            the message suggests the most similar known name.
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
    """Join messages, one per line, up to a readable length. The last line counts the remaining messages."""
    lines = [f"{where}: {message}" for message in messages]
    lengths = accumulate(len(line) + 1 for line in lines)
    shown = max(1, sum(length <= _LONGEST for length in lengths))
    left_out = [f"and {len(lines) - shown} more"] if len(lines) > shown else []
    return "\n".join([*lines[:shown], *left_out])


def _spec_files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix.lower() in (".yaml", ".yml"))
    except (FileNotFoundError, NotADirectoryError):
        raise SpecError(
            f"`AFLITE_DATASETS` contains {str(folder)!r}, which is not a folder; correct or remove it"
        ) from None
    except OSError as error:
        raise SpecError(
            f"`AFLITE_DATASETS` contains {str(folder)!r}, which cannot be read ({error.strerror}); correct or remove it"
        ) from None


def _described(content: object) -> str:
    return "is empty" if content is None else f"holds {received_text(content).removeprefix('received ')}"
