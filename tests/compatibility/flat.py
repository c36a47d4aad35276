"""Documents and tables as one value per path, with paths that survive another order of rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from typing import Any

from aflite_assets.errors import InvalidInputError

Leaf = None | bool | int | float | str
Leaves = dict[str, Leaf]
"""Values by path. A path names keys after dots and rows in brackets: `tables.accuracy[evaluator=linear].accuracy`."""

IDENTITY = (
    "title", "representation", "evaluator", "train_set", "seed", "start", "then_on", "training", "weak_model", "set",
    "side", "split", "test_set", "tested_on", "column", "category", "label", "label_name", "class", "overlap", "top",
    "against", "change", "what", "measure", "group", "first", "second", "events", "attribute", "kind", "name", "value",
    "iteration", "when", "k", "score", "word", "component", "items", "term", "row_id",
)  # fmt: skip
"""Fields that say which row a row is, whatever its numbers are. A list without any of them is addressed by position."""

_SCORED = ("representation", "evaluator", "train_set", "test_set", "tested_on", "column", "category", "label")

KEYS: Mapping[str, tuple[str, ...]] = {
    "accuracies": (*_SCORED, "top"),
    "scores": (*_SCORED, "seed"),
    "differences": (
        "comparison", "representation", "evaluator", "train_set", "tested_on", "against_representation",
        "against_evaluator", "against", "against_tested_on", "test_set", "column", "category", "label", "top",
    ),
    "thresholds": ("evaluator", "test_set", "class_name", "threshold"),
    "published": ("source", "caption", "row", "column"),
    "predictability_by_iteration": ("representation", "iteration", "low"),
    "sample_curve": ("rows",),
    "warmup_curve": ("representation", "rows"),
    "checks": ("about", "name", "subject"),
    "predictability": ("representation", "low"),
    "lengths": ("representation", "column", "start"),
    "similarities": ("representation", "label", "side"),
    "class_shares": ("representation", "iteration", "label"),
    "cues": ("representation", "label_name", "kind", "name", "value"),
    "answer_picks": ("evaluator", "test_set", "row_id"),
}  # fmt: skip
"""The fields that identify the rows of the lists with these names, in place of `IDENTITY`."""

_PLAIN = re.compile(r"(?!(?:null|true|false)$)[^\W\d][\w -]*")
_LAST_NAME = re.compile(r"([^.\[\]]*)$")


def flattened(value: Any, path: str = "") -> Leaves:
    """Return every number, text, truth value and null of a document under its path.

    An empty list or mapping is the path of its own, `path[]` or `path{}`, with the value 0.

    Raises:
        InvalidInputError: two rows of a list have the same identifying fields, or a value has no JSON type.
    """
    leaves: Leaves = {}
    for place, leaf in _leaves(value, path):
        if place in leaves:
            raise InvalidInputError(f"two values have the path {place!r}; rename one of the keys it is made of")
        leaves[place] = leaf
    return leaves


def records(rows: Sequence[Mapping[str, Any]], path: str, keys: Sequence[str]) -> Leaves:
    """Return the fields of rows that `keys` identify; the fields `keys` themselves are in the paths alone.

    Raises:
        InvalidInputError: two rows have the same values of `keys`.
    """
    return dict(_records(rows, path, keys))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Leaf]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
        if not value:
            yield path + "{}", 0
    elif isinstance(value, list | tuple):
        yield from _items(value, path)
    elif value is None or isinstance(value, bool | int | float | str):
        yield path, value
    else:
        raise InvalidInputError(f"{path} is a {type(value).__name__}, which JSON lacks; convert it before")


def _items(items: Sequence[Any], path: str) -> Iterator[tuple[str, Leaf]]:
    rows = [item for item in items if isinstance(item, Mapping)]
    keys = _identifying(rows, path) if len(rows) == len(items) else ()
    if not items:
        yield f"{path}[]", 0
    elif keys:
        yield from _records(rows, path, keys)
    else:
        for position, item in enumerate(items):
            yield from _leaves(item, f"{path}[{position}]")


def _identifying(rows: Sequence[Mapping[str, Any]], path: str) -> tuple[str, ...]:
    """Return the fields that identify the rows of a list; those with a fraction in any row identify nothing."""
    name = _LAST_NAME.search(path)
    if name is not None and name[1] in KEYS:
        return KEYS[name[1]]
    values = {key: [row.get(key) for row in rows] for key in IDENTITY}
    whole = (key for key, of_key in values.items() if not any(isinstance(one, float) for one in of_key))
    return tuple(key for key in whole if any(key in row for row in rows))


def _records(rows: Sequence[Mapping[str, Any]], path: str, keys: Sequence[str]) -> Iterator[tuple[str, Leaf]]:
    seen: set[str] = set()
    for row in rows:
        address = ", ".join(f"{key}={_in_words(row[key])}" for key in keys if row.get(key) is not None)
        if address in seen:
            raise InvalidInputError(
                f"{path}: two rows have the same identifying fields, [{address}], so their numbers cannot be told "
                "apart; add the field in which they differ to IDENTITY or KEYS of tests/compatibility/flat.py"
            )
        seen.add(address)
        others = {key: value for key, value in row.items() if key not in keys}
        yield from _leaves(others, f"{path}[{address}]")


def _in_words(value: Any) -> str:
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else dumps(value, ensure_ascii=False)
