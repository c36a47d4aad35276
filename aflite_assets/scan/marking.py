"""HTML in which the parts of a text that have the properties of a cue are highlighted.

The HTML page of the scan and the HTML report both use this module for examples.
"""

import re
from collections.abc import Callable, Iterable

from markupsafe import Markup

from aflite_assets.diagnostics.properties.artefacts import BLANKS, TYPOGRAPHY
from aflite_assets.scan.cues import Cue, CueProperty
from aflite_assets.scan.properties.texts import SIGNS
from aflite_assets.scan.properties.words import GROUPS
from aflite_assets.text import MAX_SHOWN_CHARACTERS, printable

Span = tuple[int, int]
"""Start and end of a part of a text."""

_SIGNS = {**TYPOGRAPHY, **BLANKS, **SIGNS}
_WORDS = re.compile(r"the words? '(.+)'", re.DOTALL)
_EDGE = re.compile(r"(begins|ends) with '(.+)'", re.DOTALL)
_LAST_WORD = re.compile(r"\w+$")
_LONGEST_SIGN = 6
"""Maximum length, in characters, of the parts of a text that are tested by a function."""

_MOST_PARTS = 20
"""If more parts of a text have a property, no part is highlighted."""

_BEFORE = 80
"""Number of characters of a long text shown before its first highlighted part."""


def carrying_parts(text: str, properties: Iterable[CueProperty], source: str) -> list[Span]:
    """Return the parts of a text that have the properties, in text order.

    Returns an empty list if a property belongs to the text as a whole, or is the absence of something. `source`: the
    name of the column that contains the text.
    """
    found: set[Span] = set()
    for one in properties:
        if one.source == source:
            found.update(_parts(text, one.name.removesuffix(f" ({source})")))
    return _merged(sorted(found))


def _parts(text: str, name: str) -> Iterable[Span]:
    if (words := _WORDS.fullmatch(name)) is not None:
        return _word_parts(text, r"\W+".join(map(re.escape, words[1].split())))
    if (edge := _EDGE.fullmatch(name)) is not None:
        return _edge_parts(text, edge[1] == "begins", edge[2])
    if (group := name.partition(" such as ")[0]) in GROUPS:
        return _word_parts(text, "|".join(sorted(GROUPS[group])))
    return _sign_parts(text, name, _SIGNS[name]) if name in _SIGNS else ()


def _word_parts(text: str, pattern: str) -> list[Span]:
    found = re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE)
    return [one.span() for one in found]


def _edge_parts(text: str, at_beginning: bool, edge: str) -> list[Span]:
    pattern = r"\s+".join(map(re.escape, edge.split()))
    found = re.search(rf"\A\s*({pattern})" if at_beginning else rf"({pattern})\s*\Z", text)
    return [] if found is None else [found.span(1)]


def _sign_parts(text: str, name: str, has: Callable[[str], bool]) -> list[Span]:
    """Return the shortest parts that have the property. For a property of the beginning or end of a text, return the
    outermost character.
    """
    if not has(text):
        return []
    if "begin" in name or name.startswith("ends ") or name.endswith(" end"):
        return _ends(text, name)
    for length in range(1, _LONGEST_SIGN + 1):
        found = [
            (start, start + length) for start in range(len(text) - length + 1) if has(text[start : start + length])
        ]
        if found:
            return found if len(found) <= _MOST_PARTS else []
    return []


def _ends(text: str, name: str) -> list[Span]:
    """Return the first or last character of the text, extended to a whole word or to all adjacent blanks."""
    inner = len(text) - len(text.lstrip()), len(text.rstrip())
    if name in BLANKS or name.startswith("blank "):
        spans = [(0, inner[0]), (inner[1], len(text))]
    elif name.startswith("ends "):
        word = _LAST_WORD.search(text, 0, inner[1])
        spans = [(inner[1] - 1 if word is None else word.start(), inner[1])]
    elif name.startswith("begins "):
        spans = [(inner[0], inner[0] + 1)]
    else:
        spans = []
    return [one for one in spans if one[0] < one[1]]


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def marked_text(text: str, cue: Cue, source: str) -> Markup:
    """Return a text as escaped HTML in which the parts with the cue are highlighted.

    A long text is cut to `MAX_SHOWN_CHARACTERS` around the first highlighted part.
    """
    parts = carrying_parts(text, cue.properties, source)
    first = parts[0][0] if parts else 0
    start = 0 if first < MAX_SHOWN_CHARACTERS - _BEFORE else first - _BEFORE
    end = min(len(text), start + MAX_SHOWN_CHARACTERS)
    pieces, place = [Markup("…" if start else "")], start
    for low, high in parts:
        if low >= end:
            break
        pieces.append(
            Markup("{}<mark>{}</mark>").format(printable(text[place:low]), printable(text[low : min(high, end)]))
        )
        place = min(high, end)
    return Markup().join([*pieces, printable(text[place:end]), Markup("…" if end < len(text) else "")])
