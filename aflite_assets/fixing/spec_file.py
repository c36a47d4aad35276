"""YAML dataset files of cleaned copies: the original's YAML file with another source, or a new YAML file."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import SecretStr

from aflite_assets.errors import DataError
from aflite_assets.fixing.plan import ID
from aflite_assets.specs.filter import advised_threshold
from aflite_assets.specs.yaml.paths import absolute_paths
from aflite_assets.specs.yaml.reading import read_yaml

FIXED = "_fixed"
"""Suffix of the name of a cleaned dataset."""

_WIDTH = 110
_NO_NAME = re.compile(r"[^a-z0-9_]+")
_SMALL_TEXT = {"kind": "small_transformer", "max_length": 64, "epochs": 10}
_SMALL_IMAGE = {"kind": "timm_image", "architecture": "test_resnet", "image_size": 32, "epochs": 20}


def fixed_name(name: str) -> str:
    """Return the name of the cleaned dataset, made of lower-case letters, digits and underscores."""
    plain = _NO_NAME.sub("_", name.lower()).strip("_") or "data"
    return f"{plain[:50]}{FIXED}"


def fixed_content(
    path: Path, source: Mapping[str, object], dropped: Sequence[str], *, of_questions: bool = False
) -> dict[str, object]:
    """Return the content of a dataset file with another source and without the dropped columns.

    Args:
        path: the original dataset file; its relative paths become absolute, to be valid in another folder.
        source: new keys of `source`.
        dropped: columns that are not in the new source.
        of_questions: whether the new keys belong to the `table` below `source`.

    Raises:
        DataError: the file contains a secret, or requires a dropped column.
    """
    read = read_yaml(path, environment=os.environ)
    if not isinstance(read, dict):
        raise DataError(
            f"{path.name!r} is not a mapping of keys to values; run `aflite check {path.name}` to see what is wrong"
        )
    _refuse_secrets(read, path)
    content = absolute_paths(read, path.parent)
    content.pop("name", None)
    old = content["source"] if isinstance(content["source"], dict) else {}
    content["source"] = {**old, "table": {**old["table"], **source}} if of_questions else {**old, **source}
    return _without(content, dropped) if dropped else content


def _refuse_secrets(value: object, path: Path) -> None:
    if isinstance(value, SecretStr):
        raise DataError(
            f"{path.name!r} contains a secret, and secrets are not copied; remove the token from the file and log in "
            "with `hf auth login`"
        )
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _refuse_secrets(inner, path)


def _without(content: dict[str, object], dropped: Sequence[str]) -> dict[str, object]:
    """Return the content of a dataset file without the dropped columns. Dropped columns are also removed from the
    features of challenge sets.
    """
    columns = content.get("columns")
    features = columns.get("features") if isinstance(columns, dict) else None
    places = {place for place, name in enumerate(features) if name in dropped} if isinstance(features, list) else set()
    changed = {**content, "columns": _columns_without(columns, dropped)}
    if "irrelevant" in content:
        changed["irrelevant"] = _left(content["irrelevant"], dropped)
    if isinstance(content.get("planted"), dict):
        planted: dict[str, object] = content["planted"]  # type: ignore[assignment]
        changed["planted"] = {name: value for name, value in planted.items() if name not in dropped}
    sets = content.get("challenge_sets")
    if isinstance(sets, dict) and places:
        changed["challenge_sets"] = {name: _fewer_features(one, places) for name, one in sets.items()}
    return changed


def _columns_without(columns: object, dropped: Sequence[str]) -> dict[str, object]:
    kept: dict[str, object] = {}
    for field, value in (columns if isinstance(columns, dict) else {}).items():
        if isinstance(value, list):
            left = _left(value, dropped)
            kept |= {field: left} if left else {}
        elif not (field == ID and value in dropped):
            kept[field] = value
    return kept


def _left(names: object, dropped: Sequence[str]) -> list[object]:
    return [name for name in names if name not in dropped] if isinstance(names, list) else []


def _fewer_features(challenge: object, places: set[int]) -> object:
    columns = challenge.get("columns") if isinstance(challenge, dict) else None
    features = columns.get("features") if isinstance(columns, dict) else None
    if not isinstance(challenge, dict) or not isinstance(columns, dict) or not isinstance(features, list):
        return challenge
    left = [name for place, name in enumerate(features) if place not in places]
    return {**challenge, "columns": {**columns, "features": left}}


def first_content(
    title: str,
    source: Mapping[str, object],
    *,
    label: str,
    texts: Sequence[str] = (),
    features: Sequence[str] = (),
    columns: Sequence[str] = (),
    group: str | None = None,
    has_images: bool = False,
    has_unlabelled: bool = False,
) -> dict[str, object]:
    """Return the content of a new dataset file for a source that has none. The new dataset uses only models that need
    no download.

    `label`, `texts`, `features`, `columns` and `group`: columns of the source. The inputs are the first two texts, or
    the features if there are no texts.
    """
    if has_images:
        meaning: dict[str, object] = {}
        encoder, name = _SMALL_IMAGE, "small"
    elif texts:
        meaning = {"label": label, **dict(zip(("text", "text_pair"), texts, strict=False))}
        meaning |= {"attributes": list(columns)} if columns else {}
        encoder, name = _SMALL_TEXT, "small"
    else:
        meaning = {"label": label, "features": list(features)}
        meaning |= {"attributes": list(columns)} if columns else {}
        encoder, name = {"kind": "identity"}, "given"
    meaning |= {"group": group} if group and not has_images else {}
    content: dict[str, object] = {"title": title, "source": dict(source), "holdout": {"test": 0.2}}
    content |= {"columns": meaning} if meaning else {}
    content |= {"unlabelled": [None]} if has_unlabelled else {}
    content |= {"representations": {name: dict(encoder)}}
    evaluators: dict[str, object] = {} if name == "given" else {name: dict(encoder)}
    return content | {"evaluators": {**evaluators, "linear": {"kind": "linear"}}}


QUESTION_FILTER: Mapping[str, object] = {
    "rank": "label_probability", "target_size": 0.5, "train_size": 0.3, "slice_size": 0.04
}  # fmt: skip
"""Default filter for preferences and questions; the threshold depends on the number of answers."""


def question_content(
    title: str,
    source: Mapping[str, Any],
    *,
    place: Path,
    by_words: bool,
    answers_alone: bool,
    balanced_by: Sequence[str],
    guessed: float,
) -> dict[str, object]:
    """Return the content of a new dataset file for preferences or questions, with a filter on surface properties.

    Args:
        title: the title of the dataset.
        source: a source of format `preference` or `multiple_choice` with one file.
        place: the folder of the dataset file; paths inside this folder become relative.
        by_words: whether the filter also reads the words of the answers.
        answers_alone: whether the filter ignores the words that an answer has in common with its question.
        balanced_by: measures of the answers to balance a test set by.
        guessed: accuracy of always predicting the same answer.
    """
    paired = source["format"] == "preference"
    file = Path(source["table"]["splits"]["train"]).absolute()
    named = str(file.relative_to(place)) if file.is_relative_to(place) else str(file)
    table = {**source["table"], "splits": {"train": named}}
    given = {**source, "table": table}
    model = {"kind": "small_transformer", "max_length": 128, "epochs": 5} | (
        {"loss": "bradley_terry"} if paired else {}
    )
    surface = {"kind": "surface"} | ({"inputs": ["text_pair"]} if answers_alone else {})
    words = {"words": {"kind": "siamese_bag", "inputs": ["text_pair"], "epochs": 8}}
    return {
        "title": title,
        "source": given,
        "holdout": {"test": 0.3},
        **({} if paired else {"answers": "compared"}),
        "representations": {"surface": surface, **(words if by_words else {})},
        "filter": {**QUESTION_FILTER, "threshold": advised_threshold(guessed), "evaluation_rows": "kept"},
        "evaluators": {"with_question": model, "answers_only": {"kind": "linear", "inputs": ["text_pair"]}},
        "challenge_sets": {
            "balanced": {
                "source": {**given, "table": {**table, "splits": {"test": named}}},
                "balanced_by": list(balanced_by),
            }
        },
    }


def write_spec(path: Path, content: Mapping[str, object], comments: Sequence[str]) -> None:
    """Write a dataset file with comments at the top.

    Raises:
        DataError: the written file does not have the same content when it is read back.
    """
    body = yaml.safe_dump(_escaped(content), sort_keys=False, allow_unicode=True, width=_WIDTH)
    head = "".join(f"# {' '.join(line.split())}\n" for line in comments)
    path.write_text(head + body, encoding="utf-8")
    if read_yaml(path, environment={}) != _plain(content):
        raise DataError(
            f"the settings of the original file cannot be written to {path.name!r} as YAML; write the file by hand"
        )


def _escaped(value: object) -> object:
    """Convert the value to plain Python types. Text that looks like a variable is escaped, so that it is read as
    text.
    """
    if isinstance(value, str):
        return value.replace("$", "$$") if "${" in value or "$$" in value else value
    if isinstance(value, Mapping):
        return {key: _escaped(inner) for key, inner in value.items()}
    return [_escaped(inner) for inner in value] if isinstance(value, list | tuple) else value


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
