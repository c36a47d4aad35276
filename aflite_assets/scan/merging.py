"""Merging of redundant cues: synonyms (cues that nearly the same rows have), and cues that a stronger cue explains."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.diagnostics.score_tests import score_test
from aflite_assets.scan.cues import UNSEEN
from aflite_assets.scan.rules import Rule

SAME_ROWS = 0.8
"""Two cues of one class are merged if the Jaccard similarity of their rows is at least this value."""

ABOUT_AS_MUCH = 0.03
"""Two cues are about equally strong if their balanced accuracies differ by less than this value."""

STILL_TELLS = 3.0
"""Minimum z statistic, stratified by a stronger cue, at which a cue is not explained by the stronger cue."""

MOST_EXPLAINING = 10
"""Maximum number of cues that can explain weaker cues; the strongest cues are chosen."""


@dataclass(frozen=True, eq=False)
class Found:
    """A rule that passed the tests, with its name, the rows that meet it (bool), and its effects over all cuts.

    `source`: the column of a rule with one property, or "". `tested_rows`: the number of rows of a tested half that
    meet the rule. `precision`: among the tested rows that meet the rule, the share of rows that have the rule's class.
    """

    rule: Rule
    name: str
    kind: str
    carriers: np.ndarray
    is_artefact: bool
    balanced: float
    low: float
    high: float
    p_value: float
    source: str = ""
    tested_rows: int = 0
    precision: float = 0.0


_EDGE = re.compile("(?:begins|ends|does not begin|does not end) with '")


def _shown_strength(one: Found) -> float:
    """Return the sort key of a cue: balanced accuracy, slightly reduced for letters at an end of a text."""
    is_edge = one.kind == "words" and _EDGE.match(one.name) is not None
    return round(one.balanced - (ABOUT_AS_MUCH if is_edge else 0.0), 2)


def merged(found: Sequence[Found], *, is_binary: bool) -> list[tuple[Found, list[Found]]]:
    """Return each cue with its synonyms, artefacts before candidates, and strong cues before weak cues.

    If there are two classes, a cue and its negation are one cue with two names. The name of the property that fewer
    rows have comes first.
    """
    ordered = sorted(found, key=_leads_by)
    cues: list[tuple[Found, list[Found]]] = []
    for one in ordered:
        same = next((cue for cue in cues if _are_one(cue[0], one, is_binary=is_binary)), None)
        if same is None:
            cues.append((one, []))
        else:
            same[1].append(one)
    return [_led_by_fewer_rows(lead, same) for lead, same in cues]


def _led_by_fewer_rows(lead: Found, same: list[Found]) -> tuple[Found, list[Found]]:
    """If the cue's opposite range is among its synonyms and has fewer rows, name the cue by the opposite range."""
    opposite = next((one for one in same if _is_opposite(lead, one)), None)
    if opposite is None or opposite.carriers.sum() >= lead.carriers.sum():
        return lead, same
    return opposite, [lead, *(one for one in same if one is not opposite)]


def _is_opposite(lead: Found, one: Found) -> bool:
    mine, other = lead.rule.parts, one.rule.parts
    return (
        lead.rule.label != one.rule.label
        and len(mine) == len(other) == 1
        and mine[0].form in ("number", "values")
        and (mine[0].form, mine[0].index) == (other[0].form, other[0].index)
        and abs(lead.balanced - one.balanced) < ABOUT_AS_MUCH
    )


def _leads_by(one: Found) -> tuple[object, ...]:
    """Return the sort key of a synonym; artefacts, single properties, strong rules and plain names come first."""
    lacks = sum(not part.has for part in one.rule.parts)
    ranges = sum(part.form != "flag" for part in one.rule.parts)
    return (
        not one.is_artefact,
        len(one.rule.parts),
        -_shown_strength(one),
        lacks,
        ranges,
        int(one.carriers.sum()),
        -len(one.name),
    )


def _are_one(first: Found, second: Found, *, is_binary: bool) -> bool:
    if first.rule.label == second.rule.label:
        return is_value_of(second, first) or jaccard(first.carriers, second.carriers) >= SAME_ROWS
    if not is_binary:
        return False
    opposite = max(jaccard(first.carriers, ~second.carriers), jaccard(~first.carriers, second.carriers))
    return opposite >= SAME_ROWS


def is_value_of(one: Found, column: Found) -> bool:
    """Return True if both cues are of one column, the second cue combines several values, and nearly all rows with the
    first cue also have the second cue.
    """
    if [part.form for part in column.rule.parts] != ["values"] or not one.source or one.source != column.source:
        return False
    return float((one.carriers & column.carriers).sum()) >= SAME_ROWS * float(one.carriers.sum())


def jaccard(first: np.ndarray, second: np.ndarray) -> float:
    """Return the Jaccard similarity: the number of rows with both properties divided by the number of rows with at
    least one. Return 0 if no row has either property.
    """
    return float((first & second).sum() / max((first | second).sum(), 1))


Cues = list[tuple[Found, list[Found]]]
"""Each cue with its synonyms."""


def in_order(cues: Cues, labels: np.ndarray, units: np.ndarray) -> tuple[Cues, list[int | None]]:
    """Return the cues in the order of the report, and for each cue the position of the cue that explains it, or None.

    Artefacts come first, then candidates, then cues that a stronger cue explains. Within artefacts, candidates and
    explained cues, stronger cues come first. If two cues are about equally strong, a cue of words comes before a cue of
    letters.
    """
    by_strength = sorted(cues, key=lambda cue: (-round(cue[0].balanced, 2), not cue[0].is_artefact))
    by = _explainers([lead for lead, _ in by_strength], labels, units)
    shown = [(not lead.is_artefact, -_shown_strength(lead)) for lead, _ in by_strength]
    order = sorted(range(len(cues)), key=lambda place: (by[place] is not None, *shown[place]))
    places = {place: new for new, place in enumerate(order)}
    explainers = [by[place] for place in order]
    return [by_strength[place] for place in order], [None if one is None else places[one] for one in explainers]


def _explainers(cues: Sequence[Found], labels: np.ndarray, units: np.ndarray) -> list[int | None]:
    """Return, for each cue, the position of a stronger cue that explains this cue, or None.

    A stronger cue explains a cue that is not significant in a score test stratified by the stronger cue, on the scanned
    rows.
    """
    beside: dict[int, np.ndarray] = {}
    explainers: list[int | None] = []
    for place, one in enumerate(cues):
        earlier = [
            other
            for other in range(place)
            if explainers[other] is None and (cues[other].kind not in UNSEEN or one.kind in UNSEEN)
        ][:MOST_EXPLAINING]
        by: int | None = None
        for other in earlier:
            if other not in beside:
                beside[other] = _tell_beside(cues, cues[other].carriers, labels, units)
            if beside[other][place] < STILL_TELLS:
                by = other
                break
        explainers.append(by)
    return explainers


def _tell_beside(cues: Sequence[Found], carriers: np.ndarray, labels: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the z statistic of every cue for its class, from a test that is stratified by `carriers` (bool). All cues
    of one class are tested together.
    """
    from scipy.sparse import csr_array

    z = np.zeros(len(cues))
    of_cue = np.array([cue.rule.label for cue in cues])
    for label in np.unique(of_cue):
        own = np.flatnonzero(of_cue == label)
        present = csr_array(np.column_stack([cues[place].carriers for place in own.tolist()]).astype(np.float64))
        z[own], _ = score_test(present, (labels == label).astype(np.float64), carriers.astype(np.int64), units)
    return z
