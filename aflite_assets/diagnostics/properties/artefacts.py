"""Properties of rows that are artefacts by nature: a list for the verdict on a dataset and for the scan for cues.

An artefact by nature is not part of any task, whatever the dataset. Examples are how a text is typed, how a file is
stored, or where a row is in the file. Properties that may belong to a task (words, lengths, measured columns) are only
candidates. Tests on models (or people) decide whether a candidate is a shortcut.
"""

import re
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

Reason = Literal["declared", "artefact"]
"""Reason why a property is not part of the task: the dataset's YAML file declares it so, or it is an artefact by
nature.
"""

CONVERSION = "conversion"
"""Kind of a number that is a whole number in another unit; this shows how the number was recorded, not its size."""

ARTEFACTS = frozenset(
    {"typography", "blanks", "order", "identifier", "file format", "missing values", "position", "copies", CONVERSION}
)
"""Kinds of properties that are artefacts by nature."""


def reason_of(kind: str, *, declared: bool = False) -> Reason | None:
    """Return the reason why properties of a kind are not part of the task, or None if they may be part of the task."""
    if declared:
        return "declared"
    return "artefact" if kind in ARTEFACTS else None


_IDENTIFIER = re.compile(
    r"(?:\A|[_\W])(?:id|ids|uid|uuid|guid|index|row|record|serial|number|no|nr|position)(?:\Z|[_\W])"
)
_NEARLY_UNIQUE = 0.9
"""Smallest share of distinct values of an identifier: a column of whole numbers with an identifier's name."""


def is_identifier(name: str, values: np.ndarray) -> bool:
    """Return True if a column is probably an identifier of rows.

    An identifier's values are whole numbers that are nearly all different, and its name suggests an identifier.
    `values`: float64 of shape (rows,), NaN for a row without a value.
    """
    known = values[~np.isnan(values)]
    whole = len(known) > 0 and bool((known == np.rint(known)).all())
    return whole and len(np.unique(known)) >= _NEARLY_UNIQUE * len(known) and bool(_IDENTIFIER.search(name.lower()))


_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|&[a-z]+;")
_DAMAGED = re.compile("\ufffd|\u00c3[\u0080-\u00bf]|\u00e2\u20ac|\u00c2[\u00a0-\u00bf]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_DOUBLED_SIGN = re.compile(r"[!?]{2}|\.{4}|,,")
# These patterns begin with a sign, which is rarer than a letter, and look back. They are several times faster.
_BLANK_BEFORE_SIGN = re.compile(r"[,.;:!?](?<=\w [,.;:!?])")
_NO_BLANK_AFTER_SIGN = re.compile(r"[,;:!?.](?<=[a-z][,;:!?.])(?:(?<!\.)[A-Za-z]|(?<=\.)[A-Z])")


def _begins_small(text: str) -> bool:
    first = next(filter(str.isalnum, text), "")
    return first.islower()


def _every_word_capital(text: str) -> bool:
    capitals = 0
    for word in text.split():
        if word[0].isalpha():
            if not word[0].isupper():
                return False
            capitals += 1
    return capitals > 2


# String functions replace regular expressions, which can take minutes on malicious text with many line breaks.
TYPOGRAPHY: Mapping[str, Callable[[str], bool]] = {
    "ends without a full stop": lambda text: bool(text.strip()) and not text.rstrip().endswith("."),
    "two blanks in a row": lambda text: "  " in text.strip().replace("\t", " "),
    "blank at the beginning or end": lambda text: text != text.strip(),
    "begins with a small letter": _begins_small,
    "no small letter": str.isupper,
    "line break": lambda text: "\n" in text.strip(),
    "markup": lambda text: _MARKUP.search(text) is not None,
    "exclamation mark": lambda text: "!" in text,
    "ends with a letter or digit": lambda text: text.rstrip()[-1:].isalnum(),
    "ends with a quotation mark": lambda text: text.rstrip().endswith(('"', "'", "\u201d", "\u2019")),
    "every word begins with a capital": _every_word_capital,
    "straight double quote": lambda text: '"' in text,
    "curly double quote": lambda text: "\u201c" in text or "\u201d" in text,
    "straight apostrophe": lambda text: "'" in text,
    "curly apostrophe": lambda text: "\u2019" in text or "\u2018" in text,
    "guillemets": lambda text: "\u00ab" in text or "\u00bb" in text,
    "long dash (\u2014)": lambda text: "\u2014" in text,
    "half dash (\u2013)": lambda text: "\u2013" in text,
    "hyphen between blanks": lambda text: " - " in text,
    "two hyphens": lambda text: "--" in text,
    "ellipsis sign (\u2026)": lambda text: "\u2026" in text,
    "three full stops": lambda text: "..." in text,
    "repeated punctuation": lambda text: _DOUBLED_SIGN.search(text) is not None,
    "encoding damage": lambda text: _DAMAGED.search(text) is not None,
    "asterisk": lambda text: "*" in text,
    "hash sign": lambda text: "#" in text,
    "underscore": lambda text: "_" in text,
    "vertical bar": lambda text: "|" in text,
    "backslash": lambda text: "\\" in text,
    "square bracket": lambda text: "[" in text or "]" in text,
    "back quote": lambda text: "`" in text,
    "bullet": lambda text: "\u2022" in text or "\n- " in text or "\n* " in text,
}
"""Names of typographic properties of a text, each with a function that tests for the property."""

BROKEN_WORD = "word broken in two"
"""Name of the property "a blank in the middle of a word"; `scan` finds broken words by comparing all texts."""

BLANKS: Mapping[str, Callable[[str], bool]] = {
    "blank at the beginning": lambda text: text[:1].isspace(),
    "blank at the end": lambda text: text[-1:].isspace(),
    "blank before a punctuation sign": lambda text: _BLANK_BEFORE_SIGN.search(text) is not None,
    "no blank after a punctuation sign": lambda text: _NO_BLANK_AFTER_SIGN.search(text) is not None,
    "tab": lambda text: "\t" in text,
    "empty line": lambda text: "\n\n" in text.replace("\r", ""),
    "carriage return": lambda text: "\r" in text,
    "non-breaking blank": lambda text: "\u00a0" in text or "\u202f" in text,
    "invisible character": lambda text: _INVISIBLE.search(text) is not None,
}
"""Properties of the blanks in a text, in addition to those of `TYPOGRAPHY`."""
