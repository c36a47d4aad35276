"""Differences between the inputs of a stage's result and its inputs now: settings, files, commits, code, results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aflite_assets.results import ResultKey
from aflite_assets.results.file_hashes import HashedFile
from aflite_assets.stages.shared.content_hashes import MISSING
from aflite_assets.stages.shared.file_records import OWN_RECORDS, records
from aflite_assets.wording import truncate

_NAMED = ("challenge_sets", "representations", "evaluators", "forgettables")
_MOST_CHANGES = 8
_LONGEST = 60
_UNSET = object()


def changes(
    made_from: Mapping[str, Any],
    key: ResultKey,
    *,
    old_files: Mapping[str, Mapping[str, Any]],
    new_files: Mapping[str, Sequence[HashedFile]],
) -> tuple[str, ...]:
    """Return the differences between `key` and the key from which a result was computed (`made_from`).

    `old_files`: records of files in the result, by field.
    """
    old, new = made_from["fields"], key.fields
    versions = made_from["code_version"], key.code_version
    differences = [] if versions[0] == versions[1] else [_arrow("code version", *versions)]
    was, now = ({name: each[name] for name in each if name not in ("contents", "attempt")} for each in (old, new))
    differences += [_arrow(name, _json_text(was), _json_text(now)) for name, was, now in _differences(was, now, "")]
    for field in dict.fromkeys([*old.get("contents", {}), *new.get("contents", {})]):
        before, after = (each.get("contents", {}).get(field, {}) for each in (old, new))
        if before != after:
            found = list(_content(field, before, after, old_files.get(field, {}), new_files.get(field, ())))
            differences += found or [f"the files of {field} have changed"]
    for name in dict.fromkeys([*made_from["inputs"], *key.inputs]):
        before, after = made_from["inputs"].get(name), key.inputs.get(name)
        if before != after:
            differences.append(_arrow(f"data version of {name}", _short(before), _short(after)))
    more = len(differences) - _MOST_CHANGES
    return (*differences[:_MOST_CHANGES], *([f"and {more} more changes"] if more > 0 else []))


def _differences(old: Any, new: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        inner: list[tuple[str, Any, Any]] = []
        for name in dict.fromkeys([*old, *new]):
            inner += _differences(old.get(name, _UNSET), new.get(name, _UNSET), f"{place}.{name}" if place else name)
        if not inner and list(old) != list(new):
            # A key contains the order of models and splits.
            inner = [(f"order of {place or 'fields'}", list(old), list(new))]
        yield from inner
    elif old != new:
        yield place, old, new


def _content(
    field: str, old: Any, new: Any, old_files: Mapping[str, Any], new_files: Sequence[HashedFile]
) -> Iterator[str]:
    """Describe changes in the content of one field; in a field of `_NAMED`, each model or set has a content."""
    was, now = (each if field in _NAMED else {"": each} for each in (old, new))
    for name in dict.fromkeys([*was, *now]):
        place, before, after = f"{field}.{name}".rstrip("."), was.get(name, {}), now.get(name, {})
        if MISSING in (before, after) and before != after:
            yield _arrow(place, *("missing" if each == MISSING else "there" for each in (before, after)))
        elif before.get("commit") != after.get("commit"):
            yield _arrow(f"commit of {place}", _short(before.get("commit")), _short(after.get("commit")))
        elif field not in OWN_RECORDS:
            yield from _file_changes(before, after)
    recorded = records(new_files, folded=any("files" in record for record in old_files.values()))
    hashes = ({path: entry["sha256"] for path, entry in each.items()} for each in (old_files, recorded))
    yield from _file_changes(*hashes) if field in OWN_RECORDS else ()


def _file_changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for path in dict.fromkeys([*old, *new]):
        if path in old and path in new and old[path] != new[path]:
            yield _arrow(f"file {path}", _short(old[path]), _short(new[path]))
        elif path not in old or path not in new:
            yield f"file {path} is {'gone' if path in old else 'new'}"


def _arrow(what: str, old: str, new: str) -> str:
    return f"{what}: {old} -> {new}"


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]


def _json_text(value: Any) -> str:
    if value is _UNSET:
        return "not set"
    return truncate(json.dumps(value), _LONGEST)
