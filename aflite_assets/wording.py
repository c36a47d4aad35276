"""Helpers for messages of all packages: suggested names, counts, and truncated texts and lists."""

import difflib
import unicodedata
from collections.abc import Iterable

LONGEST_NAME = 200
"""Largest number of characters in the name of a class."""

_JOINERS = "\u200c\u200d"  # zero-width joiners, which are needed to write Persian and Hindi


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a suggestion such as `; did you mean 'label'?`, with the known name that is most similar to `name`.

    The suggestion is empty if no known name is similar to `name`.
    """
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def counted(number: int, noun: str = "row") -> str:
    """Return a number with its noun, such as "1 row" or "2 rows". The plural is formed with "s"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def truncate(text: str, length: int) -> str:
    """Return the text. A text of more than `length` characters is cut and ends with an ellipsis."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def quoted(text: str, length: int) -> str:
    """Return the first `length` characters of a text in quotes, with unprintable characters escaped."""
    return repr(truncate(text, length))


def quoted_list(values: Iterable[object], *, most: int, length: int) -> str:
    """Return the first `most` values joined with commas. Texts are quoted and cut to `length` characters.

    Further values are replaced by their number, as in "and 3 more".
    """
    entries = [quoted(value, length) if isinstance(value, str) else str(value) for value in values]
    more = f" and {len(entries) - most} more" if len(entries) > most else ""
    return ", ".join(entries[:most]) + more


def is_printable_name(name: str) -> bool:
    """Return True if the name is allowed for a class: not blank, at most 200 characters, no control characters.

    Joiner characters and spaces of any script are allowed, although `str.isprintable` returns False for them.
    """
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    unprintable = any(unicodedata.category(letter) in hidden and letter not in _JOINERS for letter in name)
    return bool(name.strip()) and len(name) <= LONGEST_NAME and not unprintable
