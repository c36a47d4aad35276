"""From what pydantic refused in a spec to messages that name the YAML's field, the value and the remedy."""

import ast
import types
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from aflite_assets.sources.wording import did_you_mean

_SHOWN = 200
_REMEDIES = {
    "string_type": "must be text; put it in quotes",
    "string_pattern_mismatch": "use lower-case letters, digits and underscores only, no underscore first",
}


def explain(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """One message per refused field of `model`; what each alternative of a field wants is joined with "or"."""
    wanted: dict[tuple[str, str], list[str]] = {}
    messages = []
    for problem in error.errors(include_url=False):
        shown, place = _locate(model, problem["loc"])
        field = ".".join(shown)
        known = _known_message(problem, field, place)
        if known is not None:
            messages.append(known)
            continue
        received = str(problem["input"])[:_SHOWN]
        wanted.setdefault((field, received), []).append(_REMEDIES.get(problem["type"], problem["msg"]))
    return messages + [
        f"{field}: {', or '.join(dict.fromkeys(wishes))} (received {received!r})"
        for (field, received), wishes in wanted.items()
    ]


def _known_message(problem: Any, field: str, place: Any) -> str | None:
    """The whole message for the kinds of mistake that have one of their own."""
    match problem["type"]:
        case "missing":
            return f"{field} is missing; add it"
        case "value_error":
            message = problem["msg"].removeprefix("Value error, ")
            return f"{field}: {message}" if field else message
        case "extra_forbidden":
            keys = list(place.model_fields)
            return f"{field}: unknown key" + (did_you_mean(problem["loc"][-1], keys) or f" (known keys: {keys})")
        case "union_tag_invalid" | "union_tag_not_found":
            key = ast.literal_eval(problem["ctx"]["discriminator"])
            tags = [tag for member in _members(place) for tag in get_args(member.model_fields[key].annotation)]
            tag = problem["ctx"].get("tag")
            if tag is None:
                return f"{field}.{key} is missing; add it, one of {tags}"
            return f"{field}.{key}: {tag!r} is unknown{did_you_mean(tag, tags)} (known: {tags})"
    return None


def _locate(model: type[BaseModel], location: Sequence[int | str]) -> tuple[list[str], Any]:
    """The keys that the YAML's writer would recognise, and the type that stands there.

    For an unknown key the type is the model that refused it. pydantic's own parts are left out: the tag of a union's
    member, the names of alternatives, and the mark of a refused mapping key.
    """
    shown: list[str] = []
    place: Any = model
    for part in location:
        inner, is_key = _step(place, part)
        if is_key:
            shown.append(str(part))
        if inner is None and _is_model(place):
            return shown, place
        place = inner
    return shown, place


def _step(place: Any, part: int | str) -> tuple[Any, bool]:
    """The type behind one part of a location, and whether the part is a key of the YAML."""
    if _is_model(place):
        return (place.model_fields[part].annotation, True) if part in place.model_fields else (None, True)
    members = _members(place)
    if members[0] is not place:
        if len(members) == 1:
            return _step(members[0], part)
        return next((member for member in members if _has_tag(member, part)), None), False
    match get_origin(place):
        case origin if origin is dict and part != "[key]":
            return get_args(place)[1], True
        case origin if origin is tuple:
            return get_args(place)[0], True
    return None, isinstance(part, int)


def _members(place: Any) -> list[Any]:
    """The alternatives of a union, `None` left out; a type that is no union is its only member."""
    if get_origin(place) is Annotated:
        return _members(get_args(place)[0])
    if get_origin(place) in (Union, types.UnionType):
        return [member for member in get_args(place) if member is not type(None)]
    return [place]


def _has_tag(member: Any, tag: int | str) -> bool:
    fields = member.model_fields.values() if _is_model(member) else ()
    return any(get_origin(field.annotation) is Literal and tag in get_args(field.annotation) for field in fields)


def _is_model(place: Any) -> bool:
    return isinstance(place, type) and issubclass(place, BaseModel)
