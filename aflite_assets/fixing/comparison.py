"""Comparison of the cues before and after fixing: which cues the scan of the copy still finds, and which cues are
new.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aflite_assets.scan.columns import listed_cues
from aflite_assets.scan.cues import Cue, ScanFacts, ScanResult, same_cue

Change = Literal["gone", "weaker", "still there", "new"]
"""Change of a cue in the copy. A cue is "weaker" if less than half of its gain over chance is left."""


@dataclass(frozen=True)
class ComparedCue:
    """A cue of the original and the same cue of the copy. `before` or `after` is None if only one of the two scans
    found the cue.

    `is_chosen`: whether the user chose to fix the cue.
    """

    before: Cue | None
    after: Cue | None
    change: Change
    is_chosen: bool

    @property
    def named(self) -> Cue:
        """The cue whose name and class are shown: the cue of the original or, if that is None, the cue of the copy."""
        found = self.before or self.after
        assert found is not None
        return found


def compare_scans(before: ScanResult, after: ScanResult, chosen: Sequence[Cue]) -> list[ComparedCue]:
    """Return the chosen cues, then the other cues of the original, then the new cues of the copy.

    `same_cue` decides whether two cues are the same.
    """
    numbers = {cue.number for cue in chosen}
    ordered = [*chosen, *(cue for cue in before.cues if cue.number not in numbers)]
    any_class = len(before.classes) == 2
    pairs = [(cue, same_cue(cue, after.cues, any_class=any_class)) for cue in ordered]
    known = {match.number for _, match in pairs if match is not None}
    compared = [ComparedCue(cue, match, _change(cue, match), cue.number in numbers) for cue, match in pairs]
    new = [cue for cue in after.cues if cue.number not in known and cue.explained_by is None]
    return [*compared, *(ComparedCue(None, cue, "new", False) for cue in new)]


def is_mended(compared: Sequence[ComparedCue], after: ScanFacts) -> bool:
    """Return True if no chosen cue is left in the copy, and the scan of the copy (`after`) finds no artefact."""
    is_gone = all(one.change == "gone" for one in compared if one.is_chosen)
    return is_gone and not left_artefacts(after) and not after.is_spread


def left_artefacts(after: ScanFacts) -> list[Cue]:
    """Return the artefacts that remain in the copy, one per column and class.

    Artefacts that a stronger cue explains are left out.
    """
    return [cue for cue in listed_cues(after) if cue.is_artefact]


def _change(cue: Cue, after: Cue | None) -> Change:
    if after is None:
        return "gone"
    return "weaker" if after.balanced - 0.5 < (cue.balanced - 0.5) / 2 else "still there"
