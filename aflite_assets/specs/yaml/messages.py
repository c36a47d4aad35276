"""Conversion of pydantic's errors to messages with the field in the YAML file, the value and the remedy. The module
`expected_types` describes the types.
"""

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from aflite_assets.specs.yaml.annotations import Location, is_model, members, models_of, tags, yaml_location
from aflite_assets.specs.yaml.expected_types import is_count, wish_of_kind
from aflite_assets.specs.yaml.safe_text import BOOLEANS, received_text, shown_field, shown_key
from aflite_assets.wording import did_you_mean, truncate

NAME_RULE = "use lower-case letters, digits and underscores only, no underscore first, at most 64 characters"

_LONGEST = 600
_PATTERNS = {
    "^[a-z0-9][a-z0-9_]*$": NAME_RULE,
    r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$": "must be owner/name, as on the hub's page",
}
_WRONG_KIND = {
    *("string_type", "int_type", "float_type", "bool_type", "tuple_type", "dict_type", "model_type"),
    *("model_attributes_type", "int_from_float", "int_parsing", "float_parsing", "bool_parsing", "literal_error"),
}  # fmt: skip


class _SettingProblem(NamedTuple):
    """One error from pydantic, with its location in the YAML file and the type annotation at this location."""

    location: Location
    place: object
    error: ErrorDetails

    @property
    def wrong_kind(self) -> bool:
        return self.error["type"] in _WRONG_KIND and not self.is_key

    @property
    def is_key(self) -> bool:
        return self.error["type"] == "invalid_key" or self.error["loc"][-1:] == ("[key]",)


def explain(
    error: ValidationError, model: type[BaseModel], *, known: Collection[Location] = frozenset()
) -> Iterator[str]:
    """Return one message per invalid field of `model`. If a field accepts several types, the message joins the types
    with "or".

    Errors at or below a location in `known` are left out.
    """
    problems = [_SettingProblem(*yaml_location(model, each["loc"]), each) for each in error.errors(include_url=False)]
    told = {place for problem in problems for place in _above(problem.location)}
    told |= {problem.location for problem in problems if not problem.wrong_kind}
    grouped: dict[Location, list[_SettingProblem]] = {}
    for problem in problems:
        place = problem.location
        if _matters(problem, told) and place not in known and not any(above in known for above in _above(place)):
            grouped.setdefault(place, []).append(problem)
    for location, group in grouped.items():
        field = shown_field(location)
        for message in _of_field(group, field, model):
            yield truncate(message, _LONGEST)


def _above(location: Location) -> list[Location]:
    return [location[:length] for length in range(len(location))]


def _matters(problem: _SettingProblem, told: Collection[Location]) -> bool:
    """Return False if an error only follows from another error, or from an alternative type that the user did not mean.

    `told`: the locations of all errors except values of a wrong type, and all locations above any error.
    """
    if problem.wrong_kind:
        return problem.location not in told
    error = problem.error
    return not (error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"])


def _of_field(group: list[_SettingProblem], field: str, model: type[BaseModel]) -> Iterator[str]:
    wishes: dict[str, list[str]] = {}
    for problem in group:
        whole = _whole_message(problem, field, model)
        if whole is not None:
            yield whole
        else:
            wishes.setdefault(received_text(problem.error["input"], problem.location), []).append(_wish(problem))
    for given, wanted in wishes.items():
        yield _about(field, f"{', or '.join(dict.fromkeys(wanted))} ({given})")


def _whole_message(problem: _SettingProblem, field: str, model: type[BaseModel]) -> str | None:
    """Return the complete message for an error of a type with a special message, or None for other types of errors."""
    match problem.error["type"]:
        case "missing":
            return f"{field} is missing; add it"
        case "value_error":
            return _about(field, problem.error["msg"].removeprefix("Value error, "))
        case "extra_forbidden":
            return f"{field}: unknown key{_where_it_belongs(problem, model)}"
        case "union_tag_invalid" | "union_tag_not_found":
            return _tag_message(problem, field)
        case "invalid_key" | "string_type" if problem.is_key:
            return _key_message(problem.error["input"], shown_field(problem.location[:-1]))
    return None


def _where_it_belongs(problem: _SettingProblem, model: type[BaseModel]) -> str:
    assert is_model(problem.place)
    key, keys = str(problem.location[-1]), list(problem.place.model_fields)
    if len(problem.location) > 1 and key in model.model_fields:
        return "; it belongs at the top level, at the beginning of a line"
    parts = {name: members(field.annotation)[0] for name, field in model.model_fields.items()}
    homes = [name for name, part in parts.items() if is_model(part) and key in part.model_fields]
    elsewhere = f"; it is a key of {' and '.join(homes)}" if len(problem.location) == 1 and homes else ""
    return elsewhere + did_you_mean(key, keys) or f" (known keys: {keys})"


def _tag_message(problem: _SettingProblem, field: str) -> str:
    key = ast.literal_eval(problem.error["ctx"]["discriminator"])
    known = tags(models_of(problem.place), key)
    tag = problem.error["input"].get(key)
    if tag is None:
        return f"{field}.{key} is missing; add it, one of {known}"
    near = did_you_mean(tag, known) if isinstance(tag, str) else ""
    return f"{field}.{key}: is unknown{near} ({received_text(tag, problem.location)}; known: {known})"


def _wish(problem: _SettingProblem) -> str:
    error = problem.error
    if problem.wrong_kind or is_count(problem.place):
        return wish_of_kind(problem.place, error["input"])
    return _wish_of_limit(error["type"], error.get("ctx", {})) or error["msg"]


_LIMITS = {
    "greater_than_equal": "must be at least {ge:g}",
    "greater_than": "must be more than {gt:g}",
    "less_than_equal": "must be at most {le:g}",
    "less_than": "must be less than {lt:g}",
    "too_short": "must have at least {min_length} {entries}",
    "too_long": "must have at most {max_length} {entries}",
    "string_too_short": "must have at least {min_length} {characters}",
    "string_too_long": "must have at most {max_length} {characters}",
    "string_unicode": "must be text in UTF-8; remove characters that UTF-8 cannot encode",
    "int_parsing_size": "must be a whole number below 9223372036854775808",
}


def _wish_of_limit(kind: str, limit: Mapping[str, Any]) -> str | None:
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(limit["pattern"], f"must fit the pattern {limit['pattern']}")
    one = 1 in (limit.get("min_length"), limit.get("max_length"))
    nouns = {"entries": "entry" if one else "entries", "characters": "character" if one else "characters"}
    return _LIMITS[kind].format(**limit, **nouns) if kind in _LIMITS else None


def _key_message(key: object, field: str) -> str:
    why = f"; {BOOLEANS}" if isinstance(key, bool) else ""
    return _about(field, f"the key {shown_key(key)} must be text{why}; put it in quotes")


def _about(field: str, message: str) -> str:
    return f"{field}: {message}" if field else message
