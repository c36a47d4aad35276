"""Functions that find mistakes in values of valid types, for example secrets in plain text or booleans instead of
numbers.
"""

from collections.abc import Mapping

from pydantic import BaseModel, SecretStr

from aflite_assets.specs.yaml.annotations import Location, members, typed_values
from aflite_assets.specs.yaml.paths import names_a_file
from aflite_assets.specs.yaml.safe_text import BOOLEANS, received_text, shown_field

_LONGEST_PATH = 4096
_LARGEST = 2**63
_FREE_TEXT = (("title",), ("description",))


def check_values(content: Mapping[str, object], model: type[BaseModel]) -> dict[Location, str]:
    """Return messages, by location, about values in `content` whose types are valid for `model`, but which must be
    mistakes.
    """
    return {
        location: f"{shown_field(location)}: {problem} ({received_text(value, location)})"
        for location, value, place in typed_values(model, content)
        if (problem := _problem(location, value, place)) is not None
    }


def _problem(location: Location, value: object, place: object) -> str | None:
    """Return a message about a problem with the value, without the name of the field. Return None if there is no
    problem with the value.
    """
    types = members(place)
    if SecretStr in types:
        return _token_problem(value)
    match value:
        case SecretStr():
            return "a secret is allowed only in source.token; write ${NAME} for a variable that may be shown"
        case bool():
            return None if bool in types else _boolean_problem(types)
        case int() | float():
            return _number_problem(value, types)
        case str():
            return _text_problem(location, value, types)
    return None


def _token_problem(value: object) -> str | None:
    """Return a message if a token is not given as a secret. The message does not contain the token. Return None for a
    secret or a missing token.
    """
    if value is None or isinstance(value, SecretStr):
        return None
    return "a token in a file is not secret; write ${secret:HF_TOKEN} and set the environment variable HF_TOKEN to it"


def _boolean_problem(types: list[object]) -> str | None:
    if str in types:
        return f"{BOOLEANS}; put it in quotes"
    return f"must be a number; {BOOLEANS}" if {int, float} & set(types) else None


def _number_problem(value: float, types: list[object]) -> str | None:
    if not abs(value) < _LARGEST:
        return f"must be a finite number below {_LARGEST}"
    # pydantic would take 1.0 for the text "1", which is not how a source writes it.
    if isinstance(value, float) and value.is_integer() and {int, str} <= set(types):
        return "must be a whole number or text; write it without a fraction"
    return None


def _text_problem(location: Location, value: str, types: list[object]) -> str | None:
    if "\0" in value and location not in _FREE_TEXT:
        return "contains a NUL character, which is not allowed in names; remove it"
    if {int, float} & set(types) and str not in types:
        return _number_problem(_as_number(value), types)
    if str in types and names_a_file(location):
        if not value.strip():
            return "is empty; write a path, or remove the key"
        if len(value) > _LONGEST_PATH:
            return f"is {len(value)} characters long, and a path has at most {_LONGEST_PATH}"
    return None


def _as_number(text: str) -> float:
    """Return the number that pydantic reads from a text, or 0 if pydantic raises an error."""
    try:
        return float(text)
    except ValueError:
        return 0
