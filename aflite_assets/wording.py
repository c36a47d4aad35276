"""Phrases shared by messages of all packages: suggestions of names, counts, and truncated texts and lists."""

import difflib
import unicodedata
from collections.abc import Iterable

LONGEST_NAME = 200
"""Most characters of a class's name."""

_JOINERS = "\u200c\u200d"  # which scripts such as Persian and Hindi need


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return `; did you mean 'label'?` for the known name most similar to `name`, or an empty string if none is
    similar.
    """
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def counted(number: int, noun: str = "row") -> str:
    """Return a count with its noun; the plural adds an "s"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def truncate(text: str, length: int) -> str:
    """Return the text, truncated with an ellipsis if it is longer than the given length."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def quoted(text: str, length: int) -> str:
    """Return the beginning of a text in quotes, with unprintable characters escaped."""
    return repr(truncate(text, length))


def quoted_list(values: Iterable[object], *, most: int, length: int) -> str:
    """Return the first `most` values joined with commas, with texts quoted and truncated to `length` characters.

    Further values are counted, as in "and 3 more".
    """
    entries = [quoted(value, length) if isinstance(value, str) else str(value) for value in values]
    more = f" and {len(entries) - most} more" if len(entries) > most else ""
    return ", ".join(entries[:most]) + more


def is_printable_name(name: str) -> bool:
    """Return True if a class may have this name: not blank, at most 200 characters, no control characters.

    Joiners and spaces of any script, which `str.isprintable` refuses, are allowed.
    """
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    unprintable = any(unicodedata.category(letter) in hidden and letter not in _JOINERS for letter in name)
    return bool(name.strip()) and len(name) <= LONGEST_NAME and not unprintable
