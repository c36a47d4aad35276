"""Filtered sets of a report that compare rankings, and how similar the rows are that two sets keep."""

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import FilteredSet, RankingOverlap, RankingPair
from aflite_assets.analysis.train_sets import is_filtered_set
from aflite_assets.diagnostics.evidence.removal_overlap import expected_jaccard
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.published import read_control_sets, representation_of


def read_rankings(
    filtered_sets: PublishedResult, controls: PublishedResult, filtered: Sequence[FilteredSet]
) -> dict[str, RankingPair]:
    """Return each filtered set together with the one of its representation that was ranked otherwise, if there is one.

    They are compared by what they kept in the end, then by what both had left at the same earlier size.
    """
    by_name = {one.representation: one for one in filtered}
    pairs = [(by_name[representation_of(filtered_sets, name)], one) for name, one in by_name.items()]
    pairs = [(first, second) for first, second in pairs if first is not second]
    kept = {
        name: {"filtered": one.train.filter(pc.field("kept"))["row_id"].to_numpy()} for name, one in by_name.items()
    }
    for one in read_control_sets(controls) if pairs else []:
        if one.split == "train" and is_filtered_set(one.name):
            kept[one.representation][one.name] = one.row_ids
    found = {}
    for pair in pairs:
        first, second = (one.representation for one in pair)
        both = np.intersect1d(*(one.train["row_id"].to_numpy() for one in pair))
        overlaps = tuple(
            RankingOverlap(first, second, name, len(both), *overlap(both, row_ids, kept[second][name]))
            for name, row_ids in kept[first].items()
            if name in kept[second]
        )
        rankings = [str(one.settings.get("ranking", "predictability")) for one in pair]
        found[first] = RankingPair(first, second, (rankings[0], rankings[1]), overlaps)
    return found


def overlap(
    rows: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[int, int, int, float | None, float | None]:
    """Return how many of the `rows` (ids) are in either set and in both, and the Jaccard index: found, and by chance.

    By chance is the mean over two random sets of these sizes. Both are None if the sets are empty.
    """
    in_first, in_second = np.isin(rows, first), np.isin(rows, second)
    sizes, shared, either = (int(in_first.sum()), int(in_second.sum())), in_first & in_second, in_first | in_second
    jaccard = float(shared.sum() / either.sum()) if either.any() else None
    return (*sizes, int(shared.sum()), jaccard, expected_jaccard(len(rows), *sizes))
