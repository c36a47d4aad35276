"""Sentences on the changes between two analysis results of a dataset."""

from aflite_assets.analysis.comparisons.versions import VersionComparison
from aflite_assets.text import count, listed, one_line, short
from aflite_assets.wording import counted


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
