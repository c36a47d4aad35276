"""Records and arrays turned into plain JSON values; the report itself as JSON is in `page`."""

import dataclasses
import math
from collections.abc import Mapping
from datetime import date
from enum import Enum
from pathlib import PurePath

import numpy as np

from aflite_assets.errors import InvalidInputError

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


def to_json(value: object) -> JsonValue:
    """Return the value in JSON's own types: NaN and infinity become None, records dicts, sequences lists.

    Raises InvalidInputError if there is none.
    """
    match value:
        case Enum():
            return to_json(value.value)
        case None | bool() | str():
            return value
        case int():
            return int(value)
        case float() | np.floating():
            return float(value) if math.isfinite(value) else None
        case np.generic() | np.ndarray():
            return to_json(value.tolist())
        case Mapping():
            return {str(key): to_json(inner) for key, inner in value.items()}
        case list() | tuple():
            return [to_json(inner) for inner in value]
        case set() | frozenset():
            return [to_json(inner) for inner in sorted(value, key=str)]
        case date() | PurePath():
            return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise InvalidInputError(f"a {type(value).__name__} has no JSON form: {value!r:.200}; convert it to text first")
