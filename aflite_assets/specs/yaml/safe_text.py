"""Formatting of paths, keys and values for error messages: short, printable, and without possible secrets."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import SecretStr

from aflite_assets.wording import truncate

BOOLEANS = "yes/no/on/off and true/false are booleans in YAML"

_LONGEST = 200
_LONGEST_PATH = 3000
_MOST = 5


def shown_path(path: Path) -> str:
    """Return the path as text. A path with line breaks or undecodable bytes is quoted and escaped."""
    return truncate(str(path) if str(path).isprintable() else repr(str(path)), _LONGEST_PATH)


def shown_field(keys: Iterable[object]) -> str:
    """Return the keys that lead to a field as one text, such as `evaluators.linear.kind`."""
    return truncate(".".join(shown_key(key) for key in keys), _LONGEST)


def received_text(value: object, keys: Iterable[object] = ()) -> str:
    """Return a text such as `received '2'` for the value at the location `keys`.

    For a mapping, only the keys are shown. Values below a key `token` are never shown, because they may be secret.
    """
    if "token" in keys:
        return "received a value that is not shown here"
    match value:
        case None:
            return "received nothing"
        case Mapping():
            return f"received a mapping with the keys {_listed(value)}" if value else "received an empty mapping"
        case list() | tuple():
            return f"received the list [{_listed(value)}]" if value else "received an empty list"
        case int() | float() if not _is_huge(value):
            return f"received {shown_value(value)!r}"
    return f"received {shown_value(value)}"


def shown_value(value: object) -> str:
    """Return a value in YAML notation, with text in quotes. The contents of mappings and lists are not shown."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return repr(truncate(value, _LONGEST))
        case int() | float():
            return "a number too large to show" if _is_huge(value) else str(value)
        case SecretStr():
            return "a secret"
        case Mapping():
            return "{…}"
        case list() | tuple():
            return "[…]"
    return type(value).__name__


def shown_key(key: object) -> str:
    """Return a single key for display. Printable text is not changed."""
    return truncate(key, _LONGEST) if isinstance(key, str) and key and key.isprintable() else shown_value(key)


def _is_huge(number: float) -> bool:
    # Python refuses to write out whole numbers of thousands of digits.
    return abs(number) >= 1e300


def _listed(values: Iterable[object]) -> str:
    entries = list(values)
    more = ", …" if len(entries) > _MOST else ""
    return truncate(", ".join(shown_value(entry) for entry in entries[:_MOST]) + more, _LONGEST)
