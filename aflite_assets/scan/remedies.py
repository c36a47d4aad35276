"""Remedies for each kind of cue. The command `aflite scan` recommends remedies, and the package `fixing` applies
them.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Literal, get_args

from aflite_assets.diagnostics.properties.artefacts import BROKEN_WORD, CONVERSION
from aflite_assets.scan.columns import columns_of
from aflite_assets.scan.cues import Cue, CueProperty, ScanFacts

Remedy = Literal["normalise", "drop", "rebalance", "shuffle"]
"""Ways to remove a cue.

normalise: rewrite texts or images so that all rows are alike; drop: leave out the column; rebalance: keep a subset of
the rows in which the cue predicts nothing; shuffle: put the rows in a new random order.
"""

REMEDIES: tuple[Remedy, ...] = get_args(Remedy)

Way = Remedy | Literal["weights"]
"""A remedy that a user can choose, or `weights`: weights for all rows instead of a subset of the rows."""

REMEDIES_BY_KIND: Mapping[str, tuple[Remedy, ...]] = {
    "typography": ("normalise", "rebalance"),
    "blanks": ("normalise", "rebalance"),
    "file format": ("normalise", "rebalance"),
    "identifier": ("drop", "rebalance"),
    "missing values": ("drop", "rebalance"),
    "column": ("drop", "rebalance"),
    "order": ("shuffle", "rebalance"),
    # Dropping the column is not enough: what varies with it (the site, the year) also shows in texts and images.
    "attribute": ("rebalance", "drop"),
    "date": ("rebalance", "drop"),
    # The measured quantity may be part of the task, in any unit.
    CONVERSION: ("rebalance", "drop"),
}
"""Remedies by the kind of a property, the default first. Properties of other kinds are rebalanced."""

BORDER = "border of one colour"
NUMBER_IN_NAME = "number in the file name"
UNDECODABLE = "cannot be decoded"
"""Names of image properties that have other remedies than the rest of their kind."""

_BY_NAME: Mapping[str, tuple[Remedy, ...]] = {
    BORDER: ("normalise", "rebalance"),
    NUMBER_IN_NAME: ("normalise", "rebalance"),
    UNDECODABLE: ("rebalance",),
}

CORNER = re.compile(
    "(?:(?:bright|dark) patch of one colour in|red of|green of|blue of) the "
    "(top left|top right|bottom left|bottom right) corner"
)
"""Names of properties of an image corner. The colour of a corner may belong to the task; a patch does not."""

EFFECTS: Mapping[Remedy, str] = {
    "normalise": "makes it the same in all rows",
    "drop": "leaves out the column",
    "rebalance": "keeps a subset of the rows",
    "shuffle": "draws a new order of the rows",
}
"""Clauses on the effect of `aflite fix` with each remedy."""


def remedies_of(cue: Cue) -> tuple[Remedy, ...]:
    """Return the remedies for a cue, the default first.

    If a cue consists of two properties with different remedies, the remedy is rebalancing, because each property alone
    may be harmless.
    """
    different = list(dict.fromkeys(_remedies(one) for one in cue.properties))
    return different[0] if len(different) == 1 else ("rebalance",)


def is_editable(cue: Cue) -> bool:
    """Return True if the cue is typography or blanks, so that rewriting all answers removes it."""
    return all(one.kind in ("typography", "blanks") and "normalise" in _remedies(one) for one in cue.properties)


def remedies_in(result: ScanFacts, cue: Cue) -> tuple[Remedy, ...]:
    """Return the remedies for a cue of the scan's result. For answers to questions, the only remedy is rewriting."""
    if result.blind is None:
        return remedies_of(cue)
    return ("normalise",) if is_editable(cue) else ()


def _remedies(one: CueProperty) -> tuple[Remedy, ...]:
    if one.name.startswith(BROKEN_WORD):
        return ("rebalance",)
    if one.name in _BY_NAME:
        return _BY_NAME[one.name]
    if one.kind == "image" and CORNER.fullmatch(one.name):
        return ("rebalance", "normalise")
    remedies = REMEDIES_BY_KIND.get(one.kind, ("rebalance",))
    # Some properties have no single column to drop: patterns over several columns, and the number of missing values.
    has_column = bool(one.source) or one.kind == "identifier"
    return remedies if has_column else tuple(remedy for remedy in remedies if remedy != "drop")


def advised(result: ScanFacts) -> frozenset[int]:
    """Return the numbers of the artefacts that no other artefact explains. Only unexplained artefacts need advice."""
    artefacts = {cue.number for cue in result.artefacts}
    told = (cue for cue in result.artefacts if cue.explained_by not in artefacts)
    return frozenset(cue.number for cue in told if remedies_in(result, cue))


def effect_of(result: ScanFacts, cues: Sequence[Cue]) -> str:
    """Describe what `aflite fix` does about the given cues by default, such as "leaves out the column". Return "" if
    `aflite fix` does nothing.
    """
    first = [remedies_in(result, cue)[:1] for cue in cues]
    return "; ".join(dict.fromkeys(EFFECTS[remedy] for remedies in first for remedy in remedies))


def advice(result: ScanFacts, cue: Cue, command: str) -> str:
    """Return the command that fixes a cue, and the effect of this command. `command`: the beginning of the command,
    which is `aflite fix` with the file.
    """
    first, *others = remedies_in(result, cue)
    more = "".join(f"; --by {other} {EFFECTS[other]}" for other in others)
    return f"mend it: {command} --cue {cue.number + 1} --to NEW_FOLDER ({EFFECTS[first]}{more})"


def candidate_advice(result: ScanFacts, candidates: Sequence[Cue], command: str) -> str:
    """Return the command that fixes a candidate, or "" if there is no candidate or the rows are answers to questions.

    `command`: the beginning of the command, which is `aflite fix` with the file.
    """
    if not candidates or result.blind is not None:
        return ""
    by = "; --by drop leaves out its column" if any("drop" in remedies_of(cue)[1:] for cue in candidates) else ""
    late = ", or was not known before the label" if any(map(columns_of, candidates)) else ""
    return f"If one of them is no part of the task{late}: {command} --cue N --to NEW_FOLDER{by}{_spellings(candidates)}"


_WORD = re.compile(r"the word '(\w+)'")
_SHORTEST_START, _FEWEST_MORE = 3, 4
"""Fewest letters of an abbreviation, and of what it leaves out. Endings such as -s, -ed and -ing are shorter."""


def _spellings(cues: Sequence[Cue]) -> str:
    """Return a sentence on the first two words that may be an abbreviation and its long form, or "".

    The words stand for different classes in the same text column. Without a dictionary, the scan cannot tell an
    abbreviation from another word of the same beginning, so the sentence is a condition.
    """
    single = [cue for cue in cues if len(cue.properties) == 1]
    words = [(cue, found[1]) for cue in single if (found := _WORD.match(cue.name)) is not None]
    for (first, short), (second, long) in permutations(words, 2):
        longer = len(short) >= _SHORTEST_START and len(long) >= len(short) + _FEWEST_MORE and long.startswith(short)
        if longer and first.label != second.label and first.properties[0].source == second.properties[0].source:
            return (
                f"\nIf “{short}” and “{long}” are one word in two spellings, write it alike in all rows instead: that "
                "keeps the rows, and rebalancing drops some."
            )
    return ""
