"""Functions that find the spec models' type annotation for a location in a YAML file. The module `messages` writes
error messages about wrong values.
"""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import TypeIs

Location = tuple[int | str, ...]
"""Keys and list positions that lead to a value."""


def typed_values(place: object, value: object, location: Location = ()) -> Iterator[tuple[Location, object, object]]:
    """Yield `value` and all nested values, each with its location and the type annotation at this location.

    Values without a type in the models are left out, such as values below unknown keys, and values in a list instead of
    a mapping.
    """
    yield location, value, place
    if isinstance(value, Mapping):
        inner: Iterable[tuple[int | str, object, object]] = _mapping_places(place, value)
    elif isinstance(value, list | tuple):
        inner = [(number, item, entry_type(place, tuple)) for number, item in enumerate(value)]
    else:
        return
    for key, item, annotation in inner:
        if annotation is not None:
            yield from typed_values(annotation, item, (*location, key))


def yaml_location(place: object, location: Sequence[int | str]) -> tuple[Location, object]:
    """Convert the location of a pydantic error to keys in the YAML file, and return the type annotation at these keys.

    For an unknown key, the type is the model that does not allow the key. Parts of the location that are not keys in
    the file are left out: tags of unions, names of alternatives, and pydantic's marker for mapping keys.
    """
    shown: list[int | str] = []
    inner = place
    for part in location:
        alternatives = members(inner)
        if part == "[key]":
            continue
        if len(alternatives) > 1:
            inner = _alternative(alternatives, part)
            continue
        owner = alternatives[0]
        shown.append(part)
        if is_model(owner) and part not in owner.model_fields:
            return tuple(shown), owner
        place = inner = _below(owner, part)
    return tuple(shown), place


def members(place: object) -> list[object]:
    """Return the alternatives of a union except `None`. If the type is not a union, return only the type."""
    return list(_members(place))


@cache  # of the few places of the models, each asked about for every value of every file
def _members(place: object) -> tuple[object, ...]:
    if get_origin(place) is Annotated:
        return _members(get_args(place)[0])
    if get_origin(place) in (Union, types.UnionType):
        return tuple(inner for member in get_args(place) if member is not type(None) for inner in _members(member))
    return (place,)


def entry_type(place: object, container: type) -> object:
    """Return the type of the entries if the annotation allows a `container`: `dict` for a mapping, `tuple` for a list.
    Otherwise, return None.
    """
    for member in members(place):
        if get_origin(member) is container:
            return get_args(member)[1 if container is dict else 0]
    return None


def is_model(place: object) -> TypeIs[type[BaseModel]]:
    """Return True if the type is a model, that is, a mapping with known keys."""
    return isinstance(place, type) and issubclass(place, BaseModel)


def models_of(place: object) -> list[type[BaseModel]]:
    """Return the alternatives that are models, that is, mappings with known keys."""
    return [member for member in members(place) if is_model(member)]


def tag_key(models: list[type[BaseModel]]) -> str:
    """Return the key that distinguishes alternative models by its value, such as `kind`."""
    return next(name for name in _choices(models[0]) if all(name in _choices(model) for model in models))


def tags(models: list[type[BaseModel]], key: str) -> list[str]:
    """Return the values of `key` that select one of the given models."""
    return [tag for model in models for tag in _choices(model)[key]]


def _mapping_places(place: object, value: Mapping[str, object]) -> list[tuple[str, object, object]]:
    models = models_of(place)
    if not models:
        return [(key, item, entry_type(place, dict)) for key, item in value.items()]
    model = models[0] if len(models) == 1 else next((each for each in models if _is_meant(each, value)), None)
    fields = {} if model is None else model.model_fields
    return [(key, item, fields[key].annotation) for key, item in value.items() if key in fields]


def _is_meant(model: type[BaseModel], value: Mapping[str, object]) -> bool:
    return any(isinstance(value.get(key), str) and value[key] in choices for key, choices in _choices(model).items())


def _alternative(alternatives: list[object], label: int | str) -> object:
    """Return the alternative of a union for a `label` in pydantic's location. `label` is a tag, the name of a model, or
    the description of a type.
    """
    # The description of a mapping may hold those of the lists that are its values.
    container = dict if str(label).startswith("dict[") else tuple
    for member in alternatives:
        if not is_model(member):
            if get_origin(member) is container:
                return member
        # pydantic names a model that has a check over all its fields after the check, and the model at the end.
        elif str(label).rpartition(" ")[2].rstrip("]") == member.__name__ or any(
            label in choices for choices in _choices(member).values()
        ):
            return member
    return None


def _below(owner: object, part: int | str) -> object:
    if is_model(owner):
        return owner.model_fields[str(part)].annotation
    return entry_type(owner, dict) if get_origin(owner) is dict else entry_type(owner, tuple)


def _choices(model: type[BaseModel]) -> dict[str, tuple[str, ...]]:
    fields = {name: field.annotation for name, field in model.model_fields.items()}
    return {name: get_args(annotation) for name, annotation in fields.items() if get_origin(annotation) is Literal}
