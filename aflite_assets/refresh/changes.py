"""What differs between a stage's result and what it would be made from now: settings, files, commits, code, inputs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from aflite_assets.results import ResultKey
from aflite_assets.results.file_hashes import HashedFile
from aflite_assets.stages.shared.content_hashes import MISSING
from aflite_assets.stages.shared.file_records import OWN_RECORDS, records
from aflite_assets.wording import truncate

Kind = Literal["never made", "lost", "incomplete", "field", "file", "commit", "code version", "input", "note"]

_MOST_CHANGES = 8
_LONGEST = 60
_UNSET = object()


@dataclass(frozen=True)
class Change:
    """One reason why a stage is due: what it is about, and what was there before and is there now, shortened."""

    kind: Kind
    what: str
    old: str | None = None
    new: str | None = None

    def __str__(self) -> str:
        if self.old is None and self.new is None:
            return self.what
        return f"{self.what}: {self.old} -> {self.new}"


def changes(
    made_from: Mapping[str, Any],
    key: ResultKey,
    *,
    old_files: Mapping[str, Mapping[str, Any]],
    new_files: Mapping[str, Sequence[HashedFile]],
) -> tuple[Change, ...]:
    """Why a result that was made from one key is not that of another; empty where both are the same.

    `old_files`: the records that the result keeps, empty where it is older than these.
    """
    found = [*_code(made_from, key), *_fields(made_from["fields"], key.fields)]
    old_contents, new_contents = made_from["fields"].get("contents", {}), key.fields.get("contents", {})
    for field in dict.fromkeys([*old_contents, *new_contents]):
        old, new = old_contents.get(field, {}), new_contents.get(field, {})
        if old != new:
            found += _content(field, old, new, old_files.get(field), new_files.get(field, ()))
    found += [
        Change("input", f"data version of {name}", _short(made_from["inputs"].get(name)), _short(key.inputs.get(name)))
        for name in dict.fromkeys([*made_from["inputs"], *key.inputs])
        if made_from["inputs"].get(name) != key.inputs.get(name)
    ]
    return _bounded(found)


def _code(made_from: Mapping[str, Any], key: ResultKey) -> list[Change]:
    if made_from["code_version"] == key.code_version:
        return []
    return [Change("code version", "code version", made_from["code_version"], key.code_version)]


def _fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    left_out = ("contents", "attempt")
    one, two = ({name: value for name, value in each.items() if name not in left_out} for each in (old, new))
    return [
        Change("field", name, _json_text(before), _json_text(after))
        for name, before, after in _differences(one, two, "")
    ]


def _differences(old: Any, new: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        inner: list[tuple[str, Any, Any]] = []
        for name in dict.fromkeys([*old, *new]):
            inner += _differences(old.get(name, _UNSET), new.get(name, _UNSET), f"{place}.{name}" if place else name)
        if not inner and list(old) != list(new):
            # The order of models and splits is part of a key.
            inner = [(f"order of {place or 'fields'}", list(old), list(new))]
        yield from inner
    elif old != new:
        yield place, old, new


def _content(
    field: str, old: Any, new: Any, old_files: Mapping[str, Any] | None, new_files: Sequence[HashedFile]
) -> list[Change]:
    """What moved in the content of one field; entries of `old` and `new` are those of models or challenge sets."""
    if field == "source" or field == "annotations":
        pairs = [(field, old, new)]
    else:
        pairs = [(f"{field}.{name}", old.get(name, {}), new.get(name, {})) for name in dict.fromkeys([*old, *new])]
    found: list[Change] = []
    for place, pair, two in pairs:
        if pair == two:
            continue
        if MISSING in (pair, two):
            found.append(Change("file", place, *("missing" if each == MISSING else "there" for each in (pair, two))))
        elif "commit" in pair or "commit" in two:
            found.append(Change("commit", f"commit of {place}", _short(pair.get("commit")), _short(two.get("commit"))))
        elif field not in OWN_RECORDS:
            found += _file_changes(pair, two)
        elif old_files is None:
            found.append(Change("file", f"files of {place}", _short(pair.get("sha256")), _short(two.get("sha256"))))
    if old_files is not None:
        folded = any("files" in record for record in old_files.values())
        now = records(new_files, folded=folded)
        found += _file_changes(*({path: one["sha256"] for path, one in each.items()} for each in (old_files, now)))
    return found


def _file_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[Change]:
    found = []
    for path in dict.fromkeys([*old, *new]):
        if path not in old:
            found.append(Change("file", f"file {path} is new"))
        elif path not in new:
            found.append(Change("file", f"file {path} is gone"))
        elif old[path] != new[path]:
            found.append(Change("file", f"file {path}", _short(old[path]), _short(new[path])))
    return found


def _bounded(found: Sequence[Change]) -> tuple[Change, ...]:
    more = len(found) - _MOST_CHANGES
    return (*found[:_MOST_CHANGES], Change("note", f"and {more} more changes")) if more > 0 else tuple(found)


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]


def _json_text(value: Any) -> str:
    if value is _UNSET:
        return "not set"
    return truncate(json.dumps(value), _LONGEST)
