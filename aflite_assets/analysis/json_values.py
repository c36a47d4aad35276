"""Records and arrays turned into plain JSON values; the report itself as JSON is in `page`."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import cast

import numpy as np
from pydantic_core import to_jsonable_python

from aflite_assets.errors import InvalidInputError

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


def to_json(value: object) -> JsonValue:
    """Return the value in JSON's own types: NaN and infinity become None, records dicts, sequences lists.

    Raises InvalidInputError if there is none.
    """
    return cast(JsonValue, to_jsonable_python(value, inf_nan_mode="null", fallback=_plain))


def _plain(value: object) -> object:
    match value:
        case np.generic() | np.ndarray():
            return value.tolist()
        case Mapping():
            return dict(value)
        case PurePath():
            return str(value)
    raise InvalidInputError(f"a {type(value).__name__} has no JSON form: {value!r:.200}; convert it to text first")
