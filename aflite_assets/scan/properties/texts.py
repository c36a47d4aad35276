"""Properties of texts: typography, blanks, punctuation, scripts and lengths, and comparisons of the two texts of a
pair.
"""

import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from aflite_assets.data.words import WORD
from aflite_assets.diagnostics.properties.artefacts import BLANKS, TYPOGRAPHY
from aflite_assets.scan.properties.records import Flags, Number, PropertyInfo, flags_of, info_of, number_of
from aflite_assets.scan.properties.tokens import Tokens, common_words

_SENTENCE_END = re.compile(r"[.!?…]+(?=\s|$)")
_SENTENCE_START = re.compile(r"(?<=[.!?…])\s+(?=\S)")
_LINK = re.compile(r"https?://|www\.[a-z]")
_ADDRESS = re.compile(r"[\w.]@[\w-]+\.[a-z]{2}")
_HTML = re.compile(r"<(?:br|p|div|b|i|a|span|li|ul|em|strong)\b[^<>]{0,200}>", re.IGNORECASE)
_LONG_LETTER = re.compile(r"([^\W\d_])\1\1")
_EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_SMILEY = re.compile(r"(?<!\w)[:;]-?[()DPp](?!\w)")
_DIGIT = re.compile("[0-9]")
_CAPITAL_WORD = re.compile(r"[A-Z](?<=\b[A-Z])[A-Z]{2,}\b")

SIGNS: Mapping[str, Callable[[str], bool]] = {
    "comma": lambda text: "," in text,
    "colon": lambda text: ":" in text,
    "semicolon": lambda text: ";" in text,
    "question mark": lambda text: "?" in text,
    "ends with a question mark": lambda text: text.rstrip().endswith("?"),
    "ends with an exclamation mark": lambda text: text.rstrip().endswith("!"),
    "round bracket": lambda text: "(" in text or ")" in text,
    "slash": lambda text: "/" in text,
    "hyphen": lambda text: "-" in text,
    "digit": lambda text: _DIGIT.search(text) is not None or (not text.isascii() and any(map(str.isdigit, text))),
    "per cent sign": lambda text: "%" in text,
    "currency sign": lambda text: "$" in text or "€" in text or "£" in text,
    "ampersand": lambda text: "&" in text,
    "plus or equals sign": lambda text: "+" in text or "=" in text,
    "at sign": lambda text: "@" in text,
    "link": lambda text: _LINK.search(text) is not None,
    "mail address": lambda text: "@" in text and _ADDRESS.search(text) is not None,
    "HTML": lambda text: "<" in text and _HTML.search(text) is not None,
    "emoji": lambda text: not text.isascii() and _EMOJI.search(text) is not None,
    "smiley of signs": lambda text: (":" in text or ";" in text) and _SMILEY.search(text) is not None,
    "letter three times in a row": lambda text: _LONG_LETTER.search(text) is not None,
    "word in capitals": lambda text: _CAPITAL_WORD.search(text) is not None,
    "beginning that occurs again": lambda text: _repeats_beginning(text),
    "letter beyond ASCII": lambda text: not text.isascii() and any(ord(sign) > 127 and sign.isalpha() for sign in text),
}
"""Punctuation marks and other signs that may carry meaning, so that they are candidates instead of artefacts."""


def text_flags(texts: Sequence[str | None], source: str, *, declared: bool = False) -> Flags:
    """Return the typography, blanks, punctuation and scripts of texts as yes-or-no properties.

    All properties of a missing text are False.
    """
    return flags_of(_flags([text or "" for text in texts], source, declared), rows=len(texts))


def _flags(texts: Sequence[str], source: str, declared: bool) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    for kind, named in (("typography", TYPOGRAPHY), ("blanks", BLANKS), ("signs", SIGNS)):
        for name, has in named.items():
            info = info_of(kind, f"{name} ({source})", absent=_absent(name, source), source=source, declared=declared)
            yield info, np.fromiter(map(has, texts), dtype=bool, count=len(texts))
    scripts = [_scripts(text) for text in texts]
    for script in sorted(set().union(*scripts)):
        name = f"letters of the script {script} ({source})"
        info = info_of("signs", name, absent=f"no {name}", source=source, declared=declared)
        yield info, np.array([script in found for found in scripts])


def _repeats_beginning(text: str) -> bool:
    """Return whether the first three words stand once more in the text, as after a heading that copies them."""
    words = WORD.findall(text[:2_000].lower())
    return len(words) > 3 and f" {' '.join(words[:3])} " in f" {' '.join(words[3:])} "


_OPPOSITES = {"ends without a full stop": "ends with a full stop", "no small letter": "has small letters"}
_VERBS = {"begins": "does not begin", "ends": "does not end", "every": "not every"}


def _absent(name: str, source: str) -> str:
    if name in _OPPOSITES:
        return f"{_OPPOSITES[name]} ({source})"
    verb, _, rest = name.partition(" ")
    if verb in _VERBS:
        return f"{_VERBS[verb]} {rest} ({source})"
    return f"no {name} ({source})"


def _scripts(text: str) -> frozenset[str]:
    """Return the Unicode names of the scripts of the non-ASCII letters in a text."""
    if text.isascii():
        return frozenset()
    beyond = {sign for sign in text[:2_000] if ord(sign) > 127 and sign.isalpha()}
    return frozenset(unicodedata.name(sign, "unknown").split()[0].lower() for sign in beyond)


def text_numbers(texts: Sequence[str | None], tokens: Tokens, source: str, *, declared: bool = False) -> list[Number]:
    """Return the length of each text, and the share of each class of characters in the text. The values of a missing
    text are NaN.
    """
    missing = np.array([text is None for text in texts], dtype=bool)
    known = [text or "" for text in texts]
    characters = _counted(known, len)
    words = tokens.counts.astype(np.float64)
    sizes = np.maximum(characters, 1)
    measured = {
        ("length", f"characters of {source}"): characters,
        ("length", f"words of {source}"): words,
        ("length", f"sentences of {source}"): _counted(known, lambda text: len(_SENTENCE_END.findall(text))),
        ("length", f"characters per word of {source}"): characters / np.maximum(words, 1),
        ("length", f"lines of {source}"): _counted(known, lambda text: text.count("\n") + 1),
        ("signs", f"share of capitals in {source}"): _counted(known, _capitals) / sizes,
        ("signs", f"share of digits in {source}"): _counted(known, _digits) / sizes,
        ("signs", f"punctuation signs per character of {source}"): _counted(known, _punctuation) / sizes,
        ("words", f"share of different words in {source}"): _different(tokens) / np.maximum(words, 1),
    }
    measured |= {("sentence order", name): values for name, values in _first_and_last(known, source).items()}
    found = []
    for (kind, name), values in measured.items():
        ends = (f"the first sentence of {source}", "the last sentence") if name.startswith(_FIRST_LESS_LAST) else ()
        info = info_of(kind, name, source=source, declared=declared, compares=ends)
        found.append(number_of(info, np.where(missing, np.nan, values)))
    return [one for one in found if one is not None]


def has_parts(texts: Sequence[str | None]) -> bool:
    """Return True if at least half of the texts have two to four sentences, which may have different origins."""
    return sum(2 <= len(_SENTENCE_START.split(text or "")) <= 4 for text in texts) >= max(len(texts) / 2, 1)


_FIRST_LESS_LAST = "words of the first sentence of"


def _first_and_last(texts: Sequence[str], source: str) -> dict[str, np.ndarray]:
    """Compare the length of the first sentence with the length of the last sentence. The value is NaN for a text with
    one sentence.
    """
    ends = [(parts[0], parts[-1]) if len(parts) > 1 else None for parts in map(_SENTENCE_START.split, texts)]
    words = np.array([(np.nan, np.nan) if one is None else [len(part.split()) for part in one] for one in ends])
    apart, total = words[:, 0] - words[:, 1], words.sum(axis=1)
    return {
        f"{_FIRST_LESS_LAST} {source} less those of the last": apart,
        f"relative length of the first and the last sentence of {source}": apart / total,
    }


def _capitals(text: str) -> int:
    return _ascii_count(text, _CAPITALS) if text.isascii() else sum(map(str.isupper, text))


def _digits(text: str) -> int:
    return _ascii_count(text, _DIGITS) if text.isascii() else sum(map(str.isdigit, text))


_CAPITALS, _DIGITS = string.ascii_uppercase.encode(), string.digits.encode()


def _ascii_count(text: str, signs: bytes) -> int:
    """Count the signs of an ASCII text. Deleting bytes is much faster than asking each character."""
    return len(text) - len(text.encode("ascii").translate(None, signs))


_PUNCTUATION = str.maketrans("", "", "!\"'(),-./:;?[]{}\u2018\u2019\u201c\u201d\u2013\u2014\u2026")


def _punctuation(text: str) -> int:
    return len(text) - len(text.translate(_PUNCTUATION))


def _counted(texts: Sequence[str], count: Callable[[str], int]) -> np.ndarray:
    return np.fromiter(map(count, texts), dtype=np.float64, count=len(texts))


def _different(tokens: Tokens) -> np.ndarray:
    return np.bincount(tokens.distinct()[0], minlength=tokens.texts).astype(np.float64)


def pair_numbers(first: Tokens, second: Tokens, names: tuple[str, str]) -> list[Number]:
    """Return properties that compare the two texts of a pair: their common words and their relative length.

    The words of the two texts must share one vocabulary. Returns an empty list if a column has no words.
    """
    if not len(first.words) or not len(second.words):
        return []
    common = common_words(first, second)
    of_second = _different(second)
    apart, total = second.counts - first.counts, np.maximum(first.counts + second.counts, 1)
    measured = {
        f"share of the words of {names[1]} that stand in {names[0]}": common / np.maximum(of_second, 1),
        f"words of {names[1]} that {names[0]} lacks": of_second - common,
        f"words of {names[1]} less those of {names[0]}": apart.astype(np.float64),
        f"relative length of {names[1]} to {names[0]}": apart / total,
    }
    difference = f"words of {names[1]} less those of {names[0]}"
    found = [
        number_of(
            info_of("pair", name, source=names[1], compares=(names[1], names[0]) if name == difference else ()), values
        )
        for name, values in measured.items()
    ]
    return [one for one in found if one is not None]


def answer_numbers(
    lengths: np.ndarray, overlaps: np.ndarray, questions: np.ndarray, order: np.ndarray | None
) -> list[Number]:
    """Return three ranks of each answer among the answers to its question: by position, by length, and by overlap with
    the question.

    All arguments have shape (rows,). `questions` are codes. `order` is None if the source has no order of answers. The
    longest answer has rank 1, and so does the answer with the most overlap.
    """
    place = {} if order is None else {("position", "place among the answers of the question"): order}
    ranked = place | {
        ("length", "rank of the answer by length, longest first"): -lengths,
        ("pair", "rank of the answer by words in common with the question"): -overlaps,
    }
    found = [number_of(info_of(*named), _ranks(values, questions)) for named, values in ranked.items()]
    return [one for one in found if one is not None]


def _ranks(values: np.ndarray, questions: np.ndarray) -> np.ndarray:
    """Return the rank of each value among the values of its question, from 1. Equal values share one rank, the lowest
    of their positions.
    """
    by_value = np.lexsort((values, questions))
    starts = np.flatnonzero(np.append(True, np.diff(questions[by_value]) != 0))
    first = np.repeat(starts, np.diff(np.append(starts, len(values))))
    rank = np.arange(len(values)) - first
    tied = np.append(False, (np.diff(values[by_value]) == 0) & (np.diff(questions[by_value]) == 0))
    rank = np.maximum.accumulate(np.where(tied, 0, rank + first)) - first
    ranks = np.empty(len(values))
    ranks[by_value] = rank + 1
    return ranks
