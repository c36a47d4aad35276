"""Grouping of cues by table column. The cues of one column share a line in a list of cues, and are fixed together."""

from collections.abc import Sequence
from dataclasses import dataclass

from aflite_assets.diagnostics.properties.artefacts import CONVERSION
from aflite_assets.scan.cues import Cue, ScanFacts

COLUMN_KINDS = frozenset({"attribute", "column", "date", "identifier", "missing values", CONVERSION})
"""Kinds of properties of a table column; texts and images have other kinds."""


_Place = tuple[tuple[str, ...] | int, str]
"""The columns of a cue, or the cue's number if it has no columns; and the cue's class, or "" with two classes."""


@dataclass(frozen=True)
class CueLine:
    """One line in a list of cues: the first cue of a column for a class, and the other cues of the column.

    If there are only two classes, cues of both classes share a line. Artefacts and candidates have separate lines, but
    a candidate that a stronger cue explains may share the artefacts' line. `beside`: the first cue of another line of
    the same column, or None. A cue of a text or an image has a separate line.
    """

    lead: Cue
    others: tuple[Cue, ...] = ()
    beside: Cue | None = None

    @property
    def cues(self) -> tuple[Cue, ...]:
        """The cues of the line, starting with `lead`."""
        return (self.lead, *self.others)

    @property
    def is_by_itself(self) -> bool:
        """Whether no stronger cue explains the line's first cue."""
        return self.lead.explained_by is None


def columns_of(cue: Cue) -> tuple[str, ...]:
    """Return the columns that a cue reads, or () if the cue reads something that is not a single column."""
    if not cue.kinds <= COLUMN_KINDS or not all(one.source for one in cue.properties):
        return ()
    return tuple(sorted({one.source for one in cue.properties}))


def cue_lines(result: ScanFacts) -> list[CueLine]:
    """Return the lines of all cues, in the order of the scan: artefacts before candidates."""
    is_binary = sum(one.rows > 0 for one in result.classes) == 2
    groups: dict[tuple[_Place, bool], list[Cue]] = {}
    for cue in result.cues:
        place = _place(cue, is_binary=is_binary)
        joins_artefact = cue.explained_by is not None and (place, False) not in groups and (place, True) in groups
        groups.setdefault((place, cue.is_artefact or joins_artefact), []).append(cue)
    firsts = {key: own[0] for key, own in groups.items()}
    return [
        CueLine(lead, tuple(others), firsts.get((place, not of_artefacts)))
        for (place, of_artefacts), (lead, *others) in groups.items()
    ]


def _place(cue: Cue, *, is_binary: bool) -> _Place:
    return columns_of(cue) or cue.number, "" if is_binary else cue.label


def listed_cues(result: ScanFacts) -> list[Cue]:
    """Return the first cue of each line, except cues that a stronger cue explains."""
    return [line.lead for line in cue_lines(result) if line.is_by_itself]


def with_columns(result: ScanFacts, cues: Sequence[Cue]) -> list[Cue]:
    """Return the given cues, followed by all other cues (of any class) of the same columns."""
    columns, numbers = {columns_of(cue) for cue in cues} - {()}, {cue.number for cue in cues}
    return [*cues, *(cue for cue in result.cues if cue.number not in numbers and columns_of(cue) in columns)]
