"""Normalisation of texts: quotes, dashes, ellipses, blanks, markup, encoding damage, case and final punctuation.

`STEP_OF` maps properties of the scan to steps. A normalisation step has a weak and a strong form. The weak form
replaces all characters of a family, such as dashes, by one character. If the family still predicts the label, the
strong form deletes its characters.
"""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

Change = Callable[[str], str]

_DOUBLE_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'))
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201a\u201b\u00b4`", "'"))
_DASH = re.compile(" ?(?:[\u2014\u2013\u2012\u2015]|--+) ?| - ")
_ELLIPSIS = re.compile(r"\u2026|\.\.\.+")
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>")
_ENTITY = re.compile(r"&#?\w+;")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_SPACE_BEFORE_SIGN = re.compile(r"(\w) (?=[,.;:!?])")
_NO_SPACE_AFTER_SIGN = re.compile(r"(?<=[a-z])([,;:!?])(?=[A-Za-z])|(?<=[a-z])(\.)(?=[A-Z])")
_FINAL = " \t\r\n.!?\u2026\"'\u201d\u2019\u00bb,;:-*_)]"
_DOUBLED = re.compile(r"([!?])[!?]+|(,),+")
_DAMAGE = re.compile("[\u00c2\u00c3\u00c5\u00e2][\u0080-\u00bf\u0152-\u0178\u02c6\u02dc\u2013-\u2122\u20ac]+")
_BULLET = re.compile("\u2022[ \t]*|(?<=\n)[-*] ")


def _final_stop(text: str) -> str:
    """Return the text with one full stop at the end; a text without letters or digits stays unchanged."""
    kept = text.rstrip(_FINAL)
    return f"{kept}." if kept else text


def _spaces(text: str) -> str:
    """Return the text with single blanks: no blanks at the ends or before punctuation, one blank after punctuation."""
    joined = " ".join(_INVISIBLE.sub("", text).split())
    return _NO_SPACE_AFTER_SIGN.sub(lambda sign: f"{sign[0]} ", _SPACE_BEFORE_SIGN.sub(r"\1", joined))


def _without_markup(text: str) -> str:
    return html.unescape(_ENTITY.sub(lambda one: html.unescape(one[0]), _MARKUP.sub(" ", text)))


def _repaired(text: str) -> str:
    """Repair UTF-8 text that was decoded as Windows-1252, and delete characters that cannot be repaired."""
    return _DAMAGE.sub(lambda part: _as_utf8(part[0]), text).replace("\ufffd", "")


def _as_utf8(damaged: str) -> str:
    for encoding in ("cp1252", "latin-1"):
        try:
            return damaged.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
    return "" if len(damaged) > 1 else damaged


def _first_capital(text: str) -> str:
    place = next((place for place, sign in enumerate(text) if sign.isalnum()), None)
    return text if place is None else text[:place] + text[place].upper() + text[place + 1 :]


def _sentence_case(text: str) -> str:
    return _first_capital(text.lower())


def _single_signs(text: str) -> str:
    return _DOUBLED.sub(lambda signs: signs[1] or signs[2], _ELLIPSIS.sub("...", text))


def _deleted(signs: str) -> Change:
    table = str.maketrans(dict.fromkeys(signs))
    return lambda text: text.translate(table)


def _blanked(signs: str) -> Change:
    table = str.maketrans(dict.fromkeys(signs, " "))
    return lambda text: text.translate(table)


def _without_exclamations(text: str) -> str:
    return _DOUBLED.sub(lambda signs: signs[1] or signs[2], text).replace("!", ".")


@dataclass(frozen=True)
class Step:
    """One normalisation step.

    `unify` writes all characters of a family in one way. `has` detects characters of the family that are left, and
    `remove` deletes such characters. `unified` and `removed` describe the weak and the strong form in reports. A step
    without `remove` has only the weak form.
    """

    unified: str
    unify: Change
    has: Callable[[str], bool] | None = None
    remove: Change | None = None
    removed: str = ""


STEPS: Mapping[str, Step] = {
    "damage": Step("damaged characters repaired, or left out where that is impossible", _repaired),
    "markup": Step("markup left out and entities written as characters", _without_markup),
    "bullets": Step("bullets left out", lambda text: _BULLET.sub("", text)),
    "quotes": Step(
        'all double quotes and guillemets written as "',
        lambda text: text.translate(_DOUBLE_QUOTES),
        lambda text: '"' in text,
        _deleted('"'),
        "double quotes left out",
    ),
    "apostrophes": Step(
        "all apostrophes written as '",
        lambda text: text.translate(_APOSTROPHES),
        lambda text: "'" in text,
        _deleted("'"),
        "apostrophes left out",
    ),
    "dashes": Step(
        "all dashes written as a hyphen between blanks",
        lambda text: _DASH.sub(" - ", text),
        lambda text: " - " in text,
        lambda text: text.replace(" - ", " "),
        "dashes left out",
    ),
    "ellipses": Step(
        "all ellipses written as three full stops",
        lambda text: _ELLIPSIS.sub("...", text),
        lambda text: "..." in text,
        lambda text: text.replace("...", "."),
        "ellipses written as one full stop",
    ),
    "repeats": Step("repeated signs written once", _single_signs),
    "exclamations": Step("exclamation marks written as full stops", _without_exclamations),
    "asterisks": Step("asterisks left out", _deleted("*")),
    "hash signs": Step("hash signs left out", _deleted("#")),
    "underscores": Step("underscores written as blanks", _blanked("_")),
    "bars": Step("vertical bars written as blanks", _blanked("|")),
    "backslashes": Step("backslashes written as blanks", _blanked("\\")),
    "brackets": Step("square brackets left out", _deleted("[]")),
    "back quotes": Step("back quotes left out", _deleted("`")),
    "case": Step("all letters small but the first", _sentence_case),
    "first letter": Step("the first letter written as a capital", _first_capital),
    "final sign": Step("one full stop as the last sign of every text", _final_stop),
    "blanks": Step("single blanks, none at the ends; no breaks, tabs or invisible characters", _spaces),
}
"""The normalisation steps, in the order in which they are applied."""

STEP_OF: Mapping[str, str] = {
    "ends without a full stop": "final sign",
    "ends with a letter or digit": "final sign",
    "ends with a quotation mark": "final sign",
    "begins with a small letter": "first letter",
    "no small letter": "case",
    "every word begins with a capital": "case",
    "markup": "markup",
    "exclamation mark": "exclamations",
    "repeated punctuation": "repeats",
    "encoding damage": "damage",
    "straight double quote": "quotes",
    "curly double quote": "quotes",
    "guillemets": "quotes",
    "straight apostrophe": "apostrophes",
    "curly apostrophe": "apostrophes",
    "back quote": "back quotes",
    "long dash (\u2014)": "dashes",
    "half dash (\u2013)": "dashes",
    "hyphen between blanks": "dashes",
    "two hyphens": "dashes",
    "ellipsis sign (\u2026)": "ellipses",
    "three full stops": "ellipses",
    "asterisk": "asterisks",
    "hash sign": "hash signs",
    "underscore": "underscores",
    "vertical bar": "bars",
    "backslash": "backslashes",
    "square bracket": "brackets",
    "bullet": "bullets",
    **dict.fromkeys(("two blanks in a row", "blank at the beginning or end", "line break"), "blanks"),
    **dict.fromkeys(("blank at the beginning", "blank at the end", "tab", "empty line", "carriage return"), "blanks"),
    **dict.fromkeys(("non-breaking blank", "invisible character"), "blanks"),
    **dict.fromkeys(("blank before a punctuation sign", "no blank after a punctuation sign"), "blanks"),
}
"""The step for each property of kind typography or blanks; keys are names of properties without the text's name."""

_FOLLOWED_BY: Mapping[str, tuple[str, ...]] = {
    "damage": ("quotes", "apostrophes", "dashes", "ellipses"),  # most repaired characters are of these families
    "markup": ("blanks",),
    "bullets": ("blanks",),
    "underscores": ("blanks",),
    "bars": ("blanks",),
    "backslashes": ("blanks",),
    "back quotes": ("apostrophes",),
}
"""Steps that are also applied, after a given step."""

LEAST_APART = 0.08
"""A unified family of characters is deleted if its shares in a class and in the rest differ by at least this much."""


@dataclass(frozen=True)
class TextChange:
    """A change that applies to every text of a column, and phrases that describe the change."""

    phrases: tuple[str, ...]
    changes: tuple[Change, ...]

    def __call__(self, text: str) -> str:
        """Return the changed text; a blank text stays unchanged."""
        return reduce(lambda changed, change: change(changed), self.changes, text) if text.strip() else text


def text_change(names: Sequence[str], texts: Sequence[str | None], labels: np.ndarray, *, classes: int) -> TextChange:
    """Return the change that removes the given properties from a column.

    Args:
        names: names of properties, keys of `STEP_OF`.
        texts: texts of the scanned rows, from which the strength of each step is chosen.
        labels: class of each text, int64 in [0, classes); rows with other labels are ignored.
        classes: number of classes.

    All rows get the same change: labels affect only the strength of each step.
    """
    asked = [STEP_OF[name] for name in names]
    steps = {step for one in asked for step in (one, *_FOLLOWED_BY.get(one, ()))}
    known = [(text, label) for text, label in zip(texts, labels.tolist(), strict=True) if text and label >= 0]
    current, numbers = [text for text, _ in known], np.array([label for _, label in known], dtype=np.int64)
    phrases, changes = [], []
    for name, step in STEPS.items():
        if name not in steps:
            continue
        phrases.append(step.unified)
        changes.append(step.unify)
        current = [step.unify(text) for text in current]
        if step.has is not None and step.remove is not None and _still_tells(step.has, current, numbers, classes):
            phrases[-1] = step.removed
            changes.append(step.remove)
            current = [step.remove(text) for text in current]
    return TextChange(tuple(phrases), tuple(changes))


def _still_tells(has: Callable[[str], bool], texts: Sequence[str], labels: np.ndarray, classes: int) -> bool:
    carried = np.array([has(text) for text in texts], dtype=bool)
    shares = [(carried[labels == label], carried[labels != label]) for label in range(classes)]
    return any(
        len(inside) > 0 and len(rest) > 0 and abs(float(inside.mean() - rest.mean())) >= LEAST_APART
        for inside, rest in shares
    )
