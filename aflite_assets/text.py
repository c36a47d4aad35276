"""Safe forms of dataset text for display, and readable forms of numbers and lists of names, without markup."""

import re
import unicodedata
from collections.abc import Sequence

from aflite_assets.wording import truncate

MAX_SHOWN_CHARACTERS = 300
"""Largest number of characters of a dataset text that reports show."""

DASH = "\N{EN DASH}"
"""Dash between the ends of a range, or in a table cell without a value."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_MINUS = "\N{MINUS SIGN}"
_NON_CHARACTER = re.compile("[\ufdd0-\ufdef\ufffe\uffff]")
_BIDI_CONTROLS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """Return the text with visible replacements for characters that cannot be displayed or could mislead readers.

    C0 control characters except tab and line feed become symbols ("␀" for NUL), and carriage returns become line feeds.
    Other control characters, direction overrides, lone surrogates and non-characters become U+FFFD.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.isprintable():
        return text
    return _NON_CHARACTER.sub(_REPLACEMENT, "".join(map(_visible, text)))


def _visible(character: str) -> str:
    if character in "\n\t":
        return character
    if character < " ":
        return chr(0x2400 + ord(character))
    hidden = unicodedata.category(character) in ("Cc", "Cs") or character in _BIDI_CONTROLS
    return _REPLACEMENT if hidden else character


def one_line(text: str) -> str:
    """Return the text in printable form on one line. Each run of white space becomes one space."""
    return " ".join(printable(text).split())


def short(text: str, length: int = 60) -> str:
    """Return the text as one line of at most `length` characters. The default length suits headings of the report."""
    return truncate(one_line(text), length)


def percent(share: float) -> str:
    """Return a share in [0, 1] as a percentage with one decimal and without the sign: 0.8125 becomes "81.2"."""
    return f"{100 * share:.1f}"


def signed_points(points: float, *, decimals: int = 1) -> str:
    """Return a difference in percentage points as text with a typographic minus sign.

    A difference that rounds to zero has no sign.
    """
    rounded = round(points, decimals)
    return f"{_MINUS}{-rounded:.{decimals}f}" if rounded < 0 else f"{abs(rounded):.{decimals}f}"


def count(number: int) -> str:
    """Return a whole number with thousands separators."""
    return f"{number:,}"


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Return the names joined with commas and "and".

    Names after the first `most` are replaced by their number, as in "and 3 more".
    """
    if most is not None and len(names) > most:
        names = [*names[:most], f"{count(len(names) - most)} more"]
    return ", ".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"


def value_text(value: object) -> str:
    """Return a value as text: "none" for None and NaN, "yes" or "no" for truth values.

    Whole numbers from 10,000 have thousands separators. Other numbers are rounded to four significant digits.
    """
    if value is None or (isinstance(value, float) and value != value):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value) if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", _MINUS, 1) if abs(value) < 1e4 else f"{value:,.0f}"
    return str(value)
