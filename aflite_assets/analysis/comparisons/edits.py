"""What was edited in challenge sets whose rows are copies of natural test rows."""

from collections.abc import Iterator
from dataclasses import dataclass

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.diagnostics.edited_copies import EditKind


@dataclass(frozen=True)
class SetEdit:
    """One edit of a challenge set, with its shares of the pairs (in [0, 1]) of original and copy.

    `kind`, `place` and `name` identify the edit; `diagnostics.edited_copies.Edit` explains them. `place` and `name` are
    names in the source, and `place` is "" if rows have a single text. `differs`: share of the pairs that differ.
    `more`, `less`: shares of the pairs in which the copy has more of it, or less of it, than the original.
    """

    test_set: str
    copies_of: str
    pairs: int
    kind: EditKind
    place: str
    name: str
    differs: float
    more: float
    less: float


EDITS = TidyTable("edits", SetEdit)


def set_edits(data: BenchmarkData) -> Iterator[SetEdit]:
    """Yield the edits of each challenge set of edited copies, the most frequent first."""
    for one in data.copies:
        pairs = len(one.originals)
        for edit in one.edits:
            place = edit.place if len(data.source.columns) > 1 else ""
            shares = (edit.pairs / pairs, edit.more / pairs, edit.less / pairs)
            names = data.source.named(place), data.source.named(edit.name) if edit.kind == "column" else edit.name
            yield SetEdit(one.test_set, one.natural_set, pairs, edit.kind, *names, *shares)
