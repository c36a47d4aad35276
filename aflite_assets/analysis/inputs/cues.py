"""What marks the rows that filtering removed, as records, judged together; the tests themselves are in diagnostics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from aflite_assets.analysis.intervals import CONFIDENCE, holm
from aflite_assets.analysis.tidy import TidyTable

LEAST_LIFT = 1.05
"""A mark counts as enriched when removed rows have it this many times as often as class-matched random rows."""

LEAST_SHARE = 0.01
"""And when at least this share of the removed rows has it."""

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


@dataclass(frozen=True, kw_only=True)
class FilteringCue(Cue):
    """A mark of the rows that one filtering removed."""

    representation: str


CUES = TidyTable("cues", FilteringCue, derived=("shown", "share_kept"))


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
