"""Phrases that messages of all packages share: did you mean, counts, a long text's beginning, a list's."""

import difflib
import unicodedata
from collections.abc import Iterable

LONGEST_NAME = 200
"""Characters of a class's name."""

_JOINERS = "\u200c\u200d"  # which scripts such as Persian and Hindi need


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """`; did you mean 'label'?` for the known name nearest to `name`, or nothing when none is near."""
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def counted(number: int, noun: str = "row") -> str:
    """Return a count with its noun, which takes a plain s in the plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def truncate(text: str, length: int) -> str:
    """Return the text, or so many characters of it with an ellipsis as the last."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def quoted(text: str, length: int) -> str:
    """Return the beginning of a text in quotes, with what does not print written as escapes."""
    return repr(truncate(text, length))


def quoted_list(values: Iterable[object], *, most: int, length: int) -> str:
    """Return the first `most` values with commas, texts quoted, at most `length` characters each; then "and 3 more"."""
    entries = [quoted(value, length) if isinstance(value, str) else str(value) for value in values]
    more = f" and {len(entries) - most} more" if len(entries) > most else ""
    return ", ".join(entries[:most]) + more


def is_printable_name(name: str) -> bool:
    """Whether a class may be called so: not blank, not over 200 characters, no character that controls the display.

    Joiners and spaces of any script are allowed, which `str.isprintable` refuses.
    """
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    unprintable = any(unicodedata.category(letter) in hidden and letter not in _JOINERS for letter in name)
    return bool(name.strip()) and len(name) <= LONGEST_NAME and not unprintable
