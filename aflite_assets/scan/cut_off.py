"""Detection of texts that may be cut off in the middle of a sentence, for example by an export."""

import re
from collections.abc import Sequence

import numpy as np

from aflite_assets.scan.cues import Cue, ScanFacts
from aflite_assets.scan.remedies import remedies_in
from aflite_assets.scan.rows import ScanRows
from aflite_assets.wording import counted

LONG = 25
"""Minimum number of words of a text without a sentence end that counts as cut off."""

MOST_ENDS, _END = 3, 60
"""Maximum number of text ends that are shown, and the number of characters shown of each."""

_LEAST_SHARE = 0.5
"""Minimum share of texts without a final sign that must look cut off; below it, authors tend to omit the sign."""

_WITHOUT_END = ("ends with a letter or digit", "ends without a full stop")
_SENTENCE_END = re.compile(r"[.!?\u2026\u3002][\"'\u201d\u2019)\]]*\s")


def is_end(name: str) -> bool:
    """Return True if the property is the lack of punctuation at the end of a text.

    `name`: the name of the property, with or without the name of the text.
    """
    return name.startswith(_WITHOUT_END)


def cut_off_advice(result: ScanFacts, cue: Cue, rows: ScanRows, command: str) -> str:
    """Return two lines of advice if the reason for a cue may be that texts are cut off. Otherwise return "".

    `command`: `aflite fix` with the file, which is the beginning of the recommended command.
    """
    properties = (*cue.properties, *cue.same_properties)
    sources = dict.fromkeys(one.source for one in properties if is_end(one.name) and one.source in rows.texts)
    cut = [text for source in sources for text in cut_off(scanned_texts(rows, source))]
    if not cut:
        return ""
    ways = " or ".join(f"--by {one}" for one in remedies_in(result, cue))
    return (
        f"{counted(len(cut), 'text')} may be cut off in the middle of a sentence, such as {', '.join(ends(cut))}: "
        f"repair the export\nif they are whole: {command} --cue {cue.number + 1} {ways} --to NEW_FOLDER"
    )


def scanned_texts(rows: ScanRows, source: str) -> list[str | None]:
    """Return the scanned texts of a column."""
    texts = rows.texts[source]
    return [texts[row] for row in np.flatnonzero(rows.scanned).tolist()]


def cut_off(texts: Sequence[str | None]) -> list[str]:
    """Return the texts that may be cut off.

    A text may be cut off if it ends with a letter or digit, and either contains the end of an earlier sentence or has
    at least `LONG` words. Returns an empty list if most of the texts that end with a letter or digit look complete.
    """
    open_ended = [text for text in texts if text and text.rstrip()[-1:].isalnum()]
    found = [text for text in open_ended if _SENTENCE_END.search(text) or len(text.split()) >= LONG]
    return found if len(found) >= _LEAST_SHARE * len(open_ended) else []


def ends(texts: Sequence[str]) -> list[str]:
    """Return the last characters of at most `MOST_ENDS` evenly spaced texts, in quotation marks and not escaped."""
    step = max(len(texts) // MOST_ENDS, 1)
    return [_end(text) for text in texts[::step][:MOST_ENDS]]


def _end(text: str) -> str:
    line = " ".join(text.split())
    return f"\u201c{line}\u201d" if len(line) <= _END else f"\u201c\u2026{line[-_END:]}\u201d"
