"""Properties that are words, pairs of words, beginnings or ends of texts.

The module `texts` computes the properties of typography and length.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from aflite_assets.diagnostics.properties.artefacts import BROKEN_WORD
from aflite_assets.scan.properties.records import Flags, PropertyInfo, flags_of, info_of
from aflite_assets.scan.properties.tokens import Tokens, sorted_distinct

MOST_SHOWN = 40
"""Maximum number of characters of a word or an ending that are shown."""

_ENDS = (3, 4, 5)
"""Lengths, in characters, of the tested beginnings and ends of texts."""


GROUPS: Mapping[str, frozenset[str]] = {
    # WORD ends at an apostrophe, so "isn't" is read as "isn" and "t".
    "negation": frozenset(
        ["no", "not", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "cannot", "without", "t"]
    ),
    "word for all": frozenset(
        ["all", "every", "everyone", "everybody", "everything", "always", "only", "entire", "each", "completely"]
    ),
    "vague word": frozenset(
        [
            "some",
            "may",
            "might",
            "perhaps",
            "maybe",
            "probably",
            "sometimes",
            "several",
            "many",
            "most",
            "often",
            "usually",
        ]
    ),
}
"""Groups of English words that are tested as one property, because each word alone is rare."""


_SHOWN = {"negation": ("no", "not"), "word for all": ("all", "every"), "vague word": ("some", "may")}


def group_flags(tokens: Tokens, source: str, *, declared: bool = False) -> Flags:
    """Return one property per group in `GROUPS`: whether a text contains a word of the group."""
    return flags_of(_groups(tokens, source, declared), rows=tokens.texts)


def _groups(tokens: Tokens, source: str, declared: bool) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    for name, words in GROUPS.items():
        inside = np.array([word in words for word in tokens.vocabulary], dtype=bool)
        shown = f"{name} such as {', '.join(_quoted(word) for word in _SHOWN[name])} ({source})"
        info = info_of("word group", shown, absent=f"no {shown}", source=source, declared=declared)
        yield info, np.bincount(tokens.rows, inside[tokens.words], minlength=tokens.texts) > 0


_RARE, _KNOWN = 3, 3
"""A word is rare if it occurs less often than `_RARE`, and known if it occurs at least `_KNOWN` times."""


def broken_word_flag(tokens: Tokens, source: str, *, declared: bool = False) -> Flags:
    """Return one property: whether a text contains a broken word, such as "chil dren" from a hyphenated line end.

    Two adjacent words are a broken word if their concatenation also occurs in the texts and one of the words is rare
    elsewhere.
    """
    name, absent = f"{BROKEN_WORD} ({source})", f"no {BROKEN_WORD} ({source})"
    info = info_of("blanks", name, absent=absent, source=source, declared=declared)
    return flags_of([(info, _has_broken_word(tokens))], rows=tokens.texts)


def _has_broken_word(tokens: Tokens) -> np.ndarray:
    has = np.zeros(tokens.texts, dtype=bool)
    counts = np.bincount(tokens.words, minlength=len(tokens.vocabulary))
    rare = counts[tokens.words] < _RARE
    places = np.flatnonzero((tokens.rows[1:] == tokens.rows[:-1]) & (rare[1:] | rare[:-1]))
    known = {tokens.vocabulary[word] for word in np.flatnonzero(counts >= _KNOWN).tolist()}
    first, second = tokens.words[places].tolist(), tokens.words[places + 1].tolist()
    for place, left, right in zip(places.tolist(), first, second, strict=True):
        parts = tokens.vocabulary[left], tokens.vocabulary[right]
        if min(map(len, parts)) > 1 and "".join(parts) in known:
            has[tokens.rows[place]] = True
    return has


def word_flags(tokens: Tokens, source: str, *, fewest: int, declared: bool = False) -> Flags:
    """Return the words, and the pairs of adjacent words, that occur in at least `fewest` texts."""
    from scipy.sparse import csc_array, hstack

    rows, words = tokens.distinct()
    names, word_matrix = _matrix(rows, words, tokens.texts, fewest)
    infos = [_info("words", f"the word {_quoted(tokens.vocabulary[word])}", source, declared) for word in names]
    size = max(len(tokens.vocabulary), 1)
    neighbours = np.flatnonzero(tokens.rows[1:] == tokens.rows[:-1])
    pairs = tokens.words[:-1][neighbours] * size + tokens.words[1:][neighbours]
    keys, codes = np.unique(pairs, return_inverse=True)
    often = np.bincount(codes, minlength=len(keys))[codes] >= fewest  # keeps the next sort small
    of_text = sorted_distinct(tokens.rows[:-1][neighbours][often] * max(len(keys), 1) + codes[often])
    found, pair_matrix = _matrix(of_text // max(len(keys), 1), of_text % max(len(keys), 1), tokens.texts, fewest)
    for key in keys[found].tolist():
        pair = f"{tokens.vocabulary[key // size]} {tokens.vocabulary[key % size]}"
        infos.append(_info("words", f"the words {_quoted(pair)}", source, declared))
    return Flags(tuple(infos), csc_array(hstack([word_matrix, pair_matrix])))


def ending_flags(texts: Sequence[str | None], source: str, *, fewest: int, declared: bool = False) -> Flags:
    """Return the beginnings and ends that at least `fewest` texts share.

    A beginning or end has 1 or 2 words, or 3 to 5 characters.
    """
    return flags_of(_endings(texts, source, fewest, declared), rows=len(texts))


def _endings(
    texts: Sequence[str | None], source: str, fewest: int, declared: bool
) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    stripped = [(text or "").strip() for text in texts]
    heads = [text[:200].split() for text in stripped]
    tails = [text[-200:].split() for text in stripped]
    for count in (1, 2):
        yield from _shared([" ".join(head[:count]) for head in heads], "begins with", source, fewest, declared)
        yield from _shared([" ".join(tail[-count:]) for tail in tails], "ends with", source, fewest, declared)
    for length in _ENDS:
        yield from _shared([text[:length] for text in stripped], "begins with", source, fewest, declared)
        yield from _shared([text[-length:] for text in stripped], "ends with", source, fewest, declared)


def _shared(
    values: Sequence[str], how: str, source: str, fewest: int, declared: bool
) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    names, codes, counts = np.unique(np.array(values, dtype=object), return_inverse=True, return_counts=True)
    for place in np.flatnonzero(counts >= fewest):
        if names[place]:
            yield _info("words", f"{how} {_quoted(str(names[place]))}", source, declared), codes == place


def _matrix(rows: np.ndarray, columns: np.ndarray, texts: int, fewest: int) -> tuple[np.ndarray, object]:
    """Return the numbers of the columns in which at least `fewest` rows are True, and the sparse matrix reduced to
    these columns.
    """
    from scipy.sparse import csc_array

    counts = np.bincount(columns) if len(columns) else np.zeros(0, dtype=np.int64)
    kept = np.flatnonzero(counts >= fewest)
    place = np.full(len(counts), -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    stays = place[columns] >= 0
    data = np.ones(int(stays.sum()), dtype=np.float32)
    return kept, csc_array((data, (rows[stays], place[columns[stays]])), shape=(texts, len(kept)))


def _quoted(text: str) -> str:
    return f"'{text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + '…'}'"


def _info(kind: str, name: str, source: str, declared: bool) -> PropertyInfo:
    verb, _, rest = name.partition(" ")
    lacks = {"begins": "does not begin", "ends": "does not end"}.get(verb)
    absent = f"without {name}" if lacks is None else f"{lacks} {rest}"
    return info_of(kind, f"{name} ({source})", absent=f"{absent} ({source})", source=source, declared=declared)
