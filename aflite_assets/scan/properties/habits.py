"""Habits of writing: a sign before or behind a word, verb forms, and whether the two texts of a pair agree in them.

The module `words` computes the properties that are words, the module `texts` those that are signs by themselves.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from aflite_assets.scan.properties.records import Flags, PropertyInfo, flags_of, info_of
from aflite_assets.scan.properties.tokens import MOST_CHARACTERS, Tokens

SIGN_NAMES: Mapping[str, str] = {
    ",": "a comma",
    ";": "a semicolon",
    ":": "a colon",
    "-": "a dash",
    "\u2013": "a dash",
    "\u2014": "a dash",
    "(": "an opening bracket",
    ")": "a closing bracket",
}
"""Names of the signs that are read beside words. All dashes are one sign."""

# These patterns are read from every text: each begins with a set of signs, or at the first letter of a word alone.
_SIGN_BEFORE = re.compile(r"([,;:)(\u2013\u2014-])(?:(?<=\()\s?|(?<!\()\s+)(\w+)")
_SIGN_BEHIND = re.compile(r"\b(\w++)(?:([,;:)])|\s++([\u2013\u2014(-]))")
_SENTENCE_BEFORE = re.compile(r"[.!?\u2026][\"'\u201d\u2019)]?\s+(\w+)")
_BARE = re.compile(r"\s(?<=\w\s)\s*(?=(\w+))")

VERB_FORMS: Mapping[str, re.Pattern[str]] = {
    "form of 'to be' (is, are, was …)": re.compile(r"(?:is|are|am|was|were|be|been|being)\Z"),
    "word ending in '-ing'": re.compile(r"\w{2,}ing\Z"),
    "word ending in '-ed'": re.compile(r"\w{2,}ed\Z"),
    "word ending in '-ly'": re.compile(r"\w{2,}ly\Z"),
}
"""English verb forms and adverbs by their endings; single words of such a form may all be rare."""

_LEAST_SHARE = 0.1
"""Agreement is tested for properties that at least this share of either column has, and lacks."""


def habit_flags(
    texts: Sequence[str | None], tokens: Tokens, source: str, *, fewest: int, declared: bool = False
) -> Flags:
    """Return the verb forms, and the signs beside words in at least `fewest` texts, as yes-or-no properties.

    A word that often has a sign before it is also tested by its lack: "'and' without a sign before it".
    """
    found = [*_verb_forms(tokens, source, declared), *_beside(texts, source, fewest, declared)]
    return flags_of(found, rows=tokens.texts)


def _verb_forms(tokens: Tokens, source: str, declared: bool) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    for name, form in VERB_FORMS.items():
        inside = np.array([form.match(word) is not None for word in tokens.vocabulary], dtype=bool)
        yield _info(name, f"no {name}", source, declared), _texts_with(tokens, inside)


def _texts_with(tokens: Tokens, wanted: np.ndarray) -> np.ndarray:
    return np.bincount(tokens.rows, wanted[tokens.words], minlength=tokens.texts) > 0


def _beside(
    texts: Sequence[str | None], source: str, fewest: int, declared: bool
) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    known = [(text or "")[:MOST_CHARACTERS].lower() for text in texts]
    # Sorted, because the order of a set of texts differs from run to run.
    rows_with = {habit: rows for habit, rows in sorted(_rows_by_habit(known).items()) if len(rows) >= fewest}
    for (sign, place, word), rows in rows_with.items():
        name = f"{sign} {place} '{word}'" if place else f"a sentence that begins with '{word}'"
        absent = f"no {name.removeprefix('a ').removeprefix('an ')}"
        yield _info(name, absent, source, declared), _marked(rows, len(texts))
    bare = _bare_rows(known, {word for _, place, word in rows_with if place == "before"})
    for word, rows in sorted(bare.items()):
        if len(rows) >= fewest:
            without = f"'{word}' without a sign before it"
            yield _info(without, f"no {without}", source, declared), _marked(rows, len(texts))


def _rows_by_habit(texts: Sequence[str]) -> dict[tuple[str, str, str], list[int]]:
    """Return the texts with each sign, place and word. A sentence that begins with a word has no sign and no place."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for row, text in enumerate(texts):
        for habit in _habits(text):
            found.setdefault(habit, []).append(row)
    return found


def _bare_rows(texts: Sequence[str], words: set[str]) -> dict[str, list[int]]:
    """Return for each word the texts in which another word, and no sign, stands before it."""
    found: dict[str, list[int]] = {}
    for row, text in enumerate(texts if words else ()):
        for word in words.intersection(_BARE.findall(text)):
            found.setdefault(word, []).append(row)
    return found


def _habits(text: str) -> set[tuple[str, str, str]]:
    before = {(SIGN_NAMES[sign], "before", word) for sign, word in _SIGN_BEFORE.findall(text)}
    behind = {(SIGN_NAMES[one or two], "behind", word) for word, one, two in _SIGN_BEHIND.findall(text)}
    return before | behind | {("", "", word) for word in _SENTENCE_BEFORE.findall(text)}


def _marked(rows: Sequence[int], size: int) -> np.ndarray:
    has = np.zeros(size, dtype=bool)
    has[rows] = True
    return has


def agreement_flags(first: Flags, second: Flags, names: tuple[str, str]) -> Flags:
    """Return for each property of both texts whether both texts of a pair have it, or neither.

    Neither text alone shows such a cue: one class may have pairs in one style, the other class pairs in two styles.
    """
    places = {_bare_name(info.name, names[1]): number for number, info in enumerate(second.infos)}
    both = ((number, places.get(_bare_name(info.name, names[0]))) for number, info in enumerate(first.infos))
    found = (_agreement(first, second, one, other, names) for one, other in both if other is not None)
    return flags_of((one for one in found if one is not None), rows=first.present.shape[0])


def _agreement(
    first: Flags, second: Flags, one: int, other: int, names: tuple[str, str]
) -> tuple[PropertyInfo, np.ndarray] | None:
    here, there = (part.present[:, [place]].toarray()[:, 0] > 0 for part, place in ((first, one), (second, other)))
    if any(not _LEAST_SHARE <= side.mean() <= 1 - _LEAST_SHARE for side in (here, there)):
        return None
    what = _bare_name(first.infos[one].name, names[0])
    name, absent = f"{names[0]} and {names[1]} agree in: {what}", f"{names[0]} and {names[1]} differ in: {what}"
    return info_of("pair", name, absent=absent, source=names[1]), here == there


def _bare_name(name: str, source: str) -> str:
    return name.removesuffix(f" ({source})")


def _info(name: str, absent: str, source: str, declared: bool) -> PropertyInfo:
    return info_of("habit", f"{name} ({source})", absent=f"{absent} ({source})", source=source, declared=declared)
