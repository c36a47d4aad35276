"""What marks the rows that filtering removed, as records, judged together; the tests themselves are in diagnostics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from aflite_assets.analysis.intervals import CONFIDENCE, holm
from aflite_assets.text import count, listed, one_line, percent
from aflite_assets.wording import counted, truncate

LEAST_LIFT = 1.05
"""A mark counts as enriched when removed rows have it this many times as often as class-matched random rows."""

LEAST_SHARE = 0.01
"""And when at least this share of the removed rows has it."""


_MOST = 0.5
"""A class with this share of the rows with a mark is that of most of them."""
_MOST_CLASSES = 3
_MOST_ALIKE = 4
_MOST_SETS = 3

OF_ITS_QUESTION = "of its question"
"""Ends the value of a length that is an answer's rank among the answers of its question."""


@dataclass(frozen=True)
class Cue:
    """A mark of rows that was tested: who has it goes, more often than class-matched random draws.

    `kind`: attribute, partial input (one text of a pair tells the label), word, length (of texts), or column (of
    features). `counts`: whether such a mark alone is a shortcut; a hint otherwise, which may be the task itself.
    `label_name`: the class that it goes with, `class_share` the share of its rows that have it, `class_shares` that of
    every class in the dataset's order (empty in results of earlier versions). The other shares are of the removed rows,
    those of a length counting rows of its class alone. All lie in [0, 1]; `adjusted_p` is Holm's over all that count,
    or over all hints. `same_rows_as`: the more telling word in whose rows, nearly, a word stands; of that word
    `alike` names the others. `elsewhere`: challenge sets and the share of their rows that has the mark, where counted.
    """

    kind: Literal["attribute", "partial input", "word", "length", "column"]
    name: str
    value: str
    label_name: str | None
    class_share: float | None
    rows: int
    removed_rows: int
    share_removed: float
    share_expected: float
    p_value: float
    adjusted_p: float
    counts: bool
    class_shares: tuple[float, ...] = ()
    same_rows_as: str | None = None
    alike: tuple[str, ...] = ()
    elsewhere: tuple[tuple[str, float], ...] = ()

    @property
    def share_kept(self) -> float:
        """Of the rows that have it, those that filtering kept."""
        return 1 - self.removed_rows / self.rows

    @property
    def shown(self) -> bool:
        """Whether it is enriched among the removed rows beyond chance, and by more than a trifle."""
        return (
            self.adjusted_p <= 1 - CONFIDENCE
            and self.share_removed >= LEAST_SHARE
            and self.share_removed >= LEAST_LIFT * self.share_expected
        )

    @property
    def text(self) -> str:
        """What it is, in words: "the word “not” of text_pair", "mark = right", "text_pair alone".

        Of lengths "the number of words of text (13 or more)".
        """
        value = truncate(one_line(self.value), 40)
        if self.kind == "word":
            return f"the word “{value}”{_alike_text(self.alike)} of {self.name}"
        if self.kind == "attribute":
            return f"{truncate(one_line(self.name), 40)} = {value}"
        return f"the {self.name} ({value})" if self.kind == "length" else f"{self.name} alone"


def read_cues(table: pa.Table) -> tuple[Cue, ...]:
    """The published marks in their order, adjusted for how many were tested."""
    rows = table.to_pylist()
    adjusted = [0.0] * len(rows)
    for counts in (True, False):
        places = [place for place, row in enumerate(rows) if row["counts"] is counts]
        for place, p_value in zip(places, holm([rows[place]["p_value"] for place in places]), strict=True):
            adjusted[place] = p_value
    alike: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.get("same_rows_as") is not None:
            alike.setdefault((row["kind"], row["name"], row["same_rows_as"]), []).append(row["value"])
    return tuple(
        Cue(
            **{**row, "class_shares": tuple(row.get("class_shares") or ())},
            adjusted_p=p_value,
            alike=tuple(alike.get((row["kind"], row["name"], row["value"]), ())),
        )
        for row, p_value in zip(rows, adjusted, strict=True)
    )


def _alike_text(words: Sequence[str]) -> str:
    """(and “b”, “c” and 2 more in the same rows); nothing without any."""
    if not words:
        return ""
    named = listed([f"“{truncate(one_line(word), 40)}”" for word in words], _MOST_ALIKE)
    return f" (and {named} in the same rows)"


def cues_caption(cues: Sequence[Cue]) -> str:
    """What was tested and what was found."""
    shown = [cue for cue in cues if cue.shown]
    first = f" Most telling: {cue_text(shown[0])}." if shown else ""
    return (
        f"{len(cues):,} marks were tested, {len(shown):,} are shown (Holm, 5 %).{first} rows have the mark, classes "
        "says of which classes they are, and share_kept how many of them stayed. share_removed is of the removed train "
        "rows, share_expected of as many random rows of each class; of a length both count rows of its class alone. "
        "Where counts is false the mark is a hint: a single text's word or length, or a feature, may be the task."
    )


def class_text(cue: Cue) -> str:
    """How often a mark stands with its class: "with spam in 100.0 % of its 284 rows"."""
    name = truncate(one_line(cue.label_name or ""), 40)
    return f"with {name} in {percent(cue.class_share or 0.0)} % of its {count(cue.rows)} rows"


def classes_text(cue: Cue, label_names: Sequence[str]) -> str:
    """Of which classes the rows with a mark are, the largest shares first: "spam 91.0 %, ham 9.0 %"."""
    order = sorted(range(len(cue.class_shares)), key=lambda label: -cue.class_shares[label])
    parts = [
        f"{truncate(one_line(label_names[label]), 40)} {percent(cue.class_shares[label])} %"
        for label in order[:_MOST_CLASSES]
    ]
    rest = f" and {count(len(order) - _MOST_CLASSES)} more" if len(order) > _MOST_CLASSES else ""
    return ", ".join(parts) + rest


def telling(cues: Sequence[Cue]) -> list[Cue]:
    """Marks to name, in their order: of words in the same rows, and of lengths, which say nearly the same, only one.

    Of lengths it is an answer's rank in its question where that is among them, else the first.
    """
    words = {(cue.name, cue.value) for cue in cues if cue.kind == "word"}
    cues = [cue for cue in cues if (cue.name, cue.same_rows_as) not in words]
    lengths = [cue for cue in cues if cue.kind == "length"]
    if not lengths:
        return cues
    chosen = next((cue for cue in lengths if cue.value.endswith(OF_ITS_QUESTION)), lengths[0])
    return [chosen if cue is lengths[0] else cue for cue in cues if cue is lengths[0] or cue.kind != "length"]


def cue_numbers(cue: Cue, label_names: Sequence[str]) -> str:
    """Rows with a mark, the class of most of them, how many stayed: "284 rows, 100.0 % spam, 3.2 % kept".

    Where no class has half of them none is named, and none for a text that is right alone, whatever the class.
    """
    largest = max(range(len(cue.class_shares)), key=lambda label: cue.class_shares[label], default=0)
    share = cue.class_shares[largest] if cue.class_shares else 0.0
    named = share >= _MOST and cue.kind != "partial input"
    of_class = f", {percent(share)} % {truncate(one_line(label_names[largest]), 40)}" if named else ""
    return f"{counted(cue.rows, 'row')}{of_class}, {percent(cue.share_kept)} % kept{_elsewhere_text(cue.elsewhere)}"


def _elsewhere_text(shares: Sequence[tuple[str, float]]) -> str:
    """ "; in no row of “clean”, in 3.0 % of “hans”"; nothing where nothing was counted."""
    parts = [
        f"in {f'{percent(share)} %' if share else 'no row'} of “{truncate(one_line(name), 40)}”"
        for name, share in shares[:_MOST_SETS]
    ]
    return f"; {', '.join(parts)}" if parts else ""


def marked_text(cue: Cue, label_names: Sequence[str]) -> str:
    """A mark and its numbers in brackets: "the word “not” of text_pair (284 rows, ...)"."""
    numbers = cue_numbers(cue, label_names)
    return f"{cue.text.removesuffix(')')}; {numbers})" if cue.kind == "length" else f"{cue.text} ({numbers})"


def cue_text(cue: Cue) -> str:
    """One mark with its numbers, in one sentence or two, without the last full stop."""
    removed, expected = percent(cue.share_removed), percent(cue.share_expected)
    verb = "is right for" if cue.kind in ("partial input", "column") else "marks"
    shares = f"{verb} {removed} % of the removed rows and {expected} % of as many random ones"
    if cue.label_name is None or cue.class_share is None:
        return f"{cue.text} {shares}"
    if cue.kind == "length":
        shares = f"Of the removed rows {removed} % are of that length and class, of as many random ones {expected} %"
        return f"{cue.text}, {class_text(cue)}. {shares}"
    return f"{cue.text}, {class_text(cue)}. It {shares}"
