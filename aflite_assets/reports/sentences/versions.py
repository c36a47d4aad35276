"""Sentences on the changes between two analysis results of a dataset."""

from collections.abc import Sequence

from aflite_assets.analysis.comparisons.falls import ChallengeFall
from aflite_assets.analysis.comparisons.versions import VersionComparison
from aflite_assets.reports.tables.cells import bounds
from aflite_assets.scan.columns import listed_cues
from aflite_assets.scan.cues import ScanFacts
from aflite_assets.scan.statistics.reach import NOT_FOUND
from aflite_assets.text import count, listed, one_line, percent, short, signed_points
from aflite_assets.wording import counted

_LONGEST = 160
"""Largest number of characters of a cue's name."""


def comparison_line(compared: VersionComparison) -> str:
    """Return one sentence that counts changed accuracies, cues, rows, settings and facts of the data."""
    moved, numbers = len(compared.moved), len(compared.numbers)
    changes = [f"{moved} of {count(numbers)} {'accuracy' if numbers == 1 else 'accuracies'} moved beyond the interval"]
    if compared.cues:
        changes.append(f"{counted(len(compared.cues), 'cue')} came, went or moved")
    changes.append(f"{counted(len(compared.rows), 'row')} changed sides")
    kinds = [(kind, sum(one.kind == kind for one in compared.changed)) for kind in ("setting", "data")]
    words = {"setting": ("setting", "settings"), "data": ("fact of the data", "facts of the data")}
    changes += [
        f"{many} {words[kind][many != 1]} {'differs' if many == 1 else 'differ'}" for kind, many in kinds if many
    ]
    if all(many == 0 for _, many in kinds):
        changes.append("settings and data are the same")
    return f"Since {short(one_line(compared.old))}, {listed(changes)}."


def outcome_line(compared: VersionComparison, scan: ScanFacts | None, falls: Sequence[ChallengeFall] = ()) -> str:
    """Return sentences on the strongest cue that no longer predicts the label, or predicts it less, and on the
    strongest cue now. Return "" if no cue is gone or weaker.

    `scan`, `falls`: the scan of the newer result, and its falls on challenge sets. The first sentence names the largest
    fall, because a cue that is gone is no success if models fall as before.
    """
    moved = [one for one in compared.cues if one.state in ("gone", "weaker")]
    first = max(moved, key=lambda one: one.old or 0.0, default=None)
    if first is None or scan is None:
        return ""
    name = f"“{short(first.name, _LONGEST)}”"
    if first.new is None:
        change = f"the cue {name} no longer predicts the label: {percent(first.old or 0)} % balanced accuracy then, "
        change += f"not found now{_least_found(scan, first.label)}"
    else:
        change = f"the cue {name} predicts the label less: {percent(first.old or 0)} → {percent(first.new)} % "
        change += "balanced accuracy"
    more = f" {counted(len(moved) - 1, 'more cue')} {'is' if len(moved) == 2 else 'are'} gone or weaker."
    more = more if len(moved) > 1 else ""
    return f"Since {short(one_line(compared.old))}, {change}{_but_falls(falls)}.{more} {_strongest_now(scan)}"


def _but_falls(falls: Sequence[ChallengeFall]) -> str:
    """Return a clause on the largest fall that is named, or ""."""
    first = max((one for one in falls if one.named), key=lambda one: one.fall, default=None)
    if first is None:
        return ""
    return (
        f", but models still fall on a challenge set: “{short(first.evaluator)}” by {signed_points(first.fall)} points "
        f"{bounds(first.low, first.high)} on “{short(first.test_set)}”"
    )


def _least_found(scan: ScanFacts, label: str) -> str:
    """Return a phrase on how weak a cue for the class may be to be found by the scan, or "" if this is unknown."""
    least = next((one.reach for one in scan.tested_classes if one.name == label), None)
    if least is None:
        return ""
    if least >= NOT_FOUND:
        return " (a scan of these rows can miss cues of any strength)"
    return f" (a scan of these rows finds cues from {100 * least:.0f} % on)"


def _strongest_now(scan: ScanFacts) -> str:
    listed_now = listed_cues(scan)
    if not listed_now:
        return "No cue is left."
    one = max(listed_now, key=lambda cue: cue.balanced)
    return (
        f"The strongest cue is now “{short(one.name, _LONGEST)}” for “{short(one.label)}”, {percent(one.balanced)} %."
    )


def row_lines(compared: VersionComparison) -> tuple[str, ...]:
    """Return one sentence per filtering that compares the rows of two results.

    The sentence counts rows that both results contain, rows that only one result kept, and rows that only one result
    contains.
    """
    return tuple(
        f"{one.representation}: {counted(one.shared, 'row')} in both results; {one.to_removed:,} were kept before "
        f"and are removed now, {one.to_kept:,} were removed before and are kept now. Only the earlier result has "
        f"{counted(one.only_old, 'row')}, only this one {counted(one.only_new, 'row')}."
        for one in compared.counts
    )
