"""Records of made data: rows with properties, draws, and kinds of data with the codes that are right and false.

How rows are drawn does not belong here (`drawing.py`), nor does any rule of a verdict.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Truth = Literal["null", "shortcut"]
Seen = Literal["declared", "editable", "reversed", "unseen", "none"]
Collected = Literal["constructed", "adversarially"]

TRAIN, TEST = 2_000, 1_000
"""Rows of the train and test split of a draw, unless its kind documents another number."""

FILTER_SHARES = (0.35, 0.5, 0.65)
"""Shares of train rows to keep. `filter_share` picks one per kind, whatever the share of its cue is."""

FOUND = frozenset({"shortcut_found_helps", "shortcut_found_mixed", "shortcut_found_harms", "shortcut_found"})
HELPS = frozenset({"helps_no_shortcut_named"})
LEANS = frozenset({"leans_on"})
LEARNT = frozenset({"learnable_no_shortcut_shown", "easy"})
NOT_LEARNT = frozenset({"class_balance_only", "nothing_found", "cannot_tell"})
CODES = FOUND | HELPS | LEANS | LEARNT | NOT_LEARNT
"""All codes of a verdict."""

LETTERS = {
    "shortcut_found": "F",
    "shortcut_found_helps": "P",
    "shortcut_found_mixed": "M",
    "shortcut_found_harms": "W",
    "leans_on": "L",
    "helps_no_shortcut_named": "H",
    "learnable_no_shortcut_shown": "N",
    "easy": "E",
    "class_balance_only": "B",
    "nothing_found": "O",
    "cannot_tell": "C",
}
"""Letter of each code in the table of kinds."""


@dataclass(frozen=True, eq=False)
class Property:
    """A property that a person could name for each row of a split.

    `values` has shape (rows,) and holds str objects or float64. `columns` are the feature columns that hold exactly
    this property and nothing else, so that an edited copy can permute them. It is empty if the property cannot be
    separated from the rest of the input, such as the background of a picture, or if it is not in the input at all.
    """

    name: str
    values: np.ndarray
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one split.

    `features`: (rows, width) float32, all that a model sees. `labels`: (rows,) int64. `properties`: the same names in
    the same order in all splits of a draw, distractors included. `groups`: (rows,) int64 codes of rows that belong
    together, or None if the author declared no groups. Equal codes in two splits do not mean the same group.
    """

    features: np.ndarray
    labels: np.ndarray
    properties: tuple[Property, ...]
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray) -> "Rows":
        """Return the given rows (indices or a mask), with their properties and groups."""
        properties = tuple(Property(one.name, one.values[rows], one.columns) for one in self.properties)
        groups = None if self.groups is None else self.groups[rows]
        return Rows(self.features[rows], self.labels[rows], properties, groups)

    def values(self, name: str) -> np.ndarray:
        """Return the values of the property `name`; raises KeyError if there is none."""
        return {one.name: one.values for one in self.properties}[name]


@dataclass(frozen=True, eq=False)
class Challenge:
    """A challenge set, and how its author would declare that it was collected (None: no declaration)."""

    rows: Rows
    collected: Collected | None


@dataclass(frozen=True, eq=False)
class Draw:
    """A dataset: `test` is drawn as `train` is, and its rows never enter the filter's pool.

    `irrelevant`: properties that the author declared to be no part of the task. `artefacts`: properties that are
    artefacts by nature (typography, blanks, position, order in the file, record number, file format, missing pattern).
    """

    train: Rows
    test: Rows
    challenges: Mapping[str, Challenge] = field(default_factory=dict)
    irrelevant: tuple[str, ...] = ()
    artefacts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """A kind of data whose truth is known.

    `cue`: the property that is the shortcut, or the one that tempts in a null. It is None if no property tempts, and in
    an unseen shortcut, which is no property of the rows. `seen`: what makes the shortcut findable. "declared": its
    author declared it irrelevant, or it is an artefact by nature that cannot be edited. "editable": it is an artefact
    by nature with columns of its own. "reversed": a challenge set contradicts it. "unseen": nothing shows it. "none":
    there is no shortcut, or whether it is one is the person's to say.

    `filter_to`: share of train rows to keep. `expected`: codes that are right. `refused`: codes that are false. A code
    in neither is a miss in a shortcut kind and harmless in a null. `random_filter`: the rows to keep are drawn at
    random. `wrong_declaration`: the author declared something false. Rates of such a kind are reported as the cost of
    the declaration, and no limit applies to them.
    """

    name: str
    truth: Truth
    cue: str | None
    seen: Seen
    filter_to: float
    why: str
    draw: Callable[[np.random.Generator], Draw] = field(repr=False)
    expected: frozenset[str]
    refused: frozenset[str]
    random_filter: bool = False
    wrong_declaration: bool = False


def filter_share(name: str, shares: Sequence[float] = FILTER_SHARES) -> float:
    """Return the share of train rows that a kind keeps: one of `shares`, by a checksum of the kind's name."""
    return shares[zlib.crc32(name.encode()) % len(shares)]


def separate_stream(name: str, draw: Callable[[np.random.Generator], Draw]) -> Callable[[np.random.Generator], Draw]:
    """Return `draw` on a stream that differs between kinds, so that equal seeds do not give two kinds the same rows."""
    return lambda rng: draw(np.random.default_rng([zlib.crc32(name.encode()), *rng.integers(2**32, size=4).tolist()]))


def describe(kinds: Iterable[Kind]) -> str:
    """Return the table of kinds as Markdown, one row per kind, with codes as `LETTERS`."""
    lines = ["| kind | truth | cue | seen | kept | expected | refused |", "|---|---|---|---|--:|---|---|"]
    for kind in kinds:
        flags = ", random filter" * kind.random_filter + ", wrong declaration" * kind.wrong_declaration
        cells = (
            kind.name,
            kind.truth + flags,
            kind.cue or "",
            kind.seen,
            f"{kind.filter_to}",
            *map(_letters, (kind.expected, kind.refused)),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _letters(codes: frozenset[str]) -> str:
    return "".join(letter for code, letter in LETTERS.items() if code in codes)
