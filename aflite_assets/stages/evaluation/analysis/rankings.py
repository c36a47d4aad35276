"""Which filtered sets of a report compare rankings, and the overlap of the rows that they left."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.rankings import KeptOverlap, RankingPair
from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.analysis.train_sets import is_filtered_set
from aflite_assets.diagnostics.evidence.removal_overlap import expected_jaccard
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.published import ControlSet, read_control_sets, representation_of


def read_rankings(
    filtered_sets: PublishedResult, controls: PublishedResult, filtered: Sequence[FilteredSet]
) -> tuple[RankingPair, ...]:
    """Each filtered set with the one that was ranked otherwise; none where a dataset's file compares no rankings."""
    by_name = {one.representation: one for one in filtered}
    pairs = [(by_name[representation_of(filtered_sets, name)], one) for name, one in by_name.items()]
    pairs = [(first, second) for first, second in pairs if first is not second]
    read = read_control_sets(controls) if pairs else []
    earlier = [one for one in read if one.split == "train" and is_filtered_set(one.name)]
    return tuple(
        RankingPair(
            first.representation,
            second.representation,
            (_ranking(first), _ranking(second)),
            tuple(_overlaps(first, second, earlier)),
        )
        for first, second in pairs
    )


def _ranking(filtered: FilteredSet) -> str:
    return str(filtered.settings.get("ranking", "predictability"))


def _overlaps(first: FilteredSet, second: FilteredSet, earlier: Sequence[ControlSet]) -> Iterator[KeptOverlap]:
    """Of the filtered sets, then of what both had left at the same earlier size."""
    common = np.intersect1d(_train_rows(first, kept=False), _train_rows(second, kept=False))
    yield _overlap("filtered", common, _train_rows(first, kept=True), _train_rows(second, kept=True))
    sets = {(one.representation, one.name): one.row_ids for one in earlier}
    for (representation, name), row_ids in sets.items():
        other = sets.get((second.representation, name))
        if representation == first.representation and other is not None:
            yield _overlap(name, common, row_ids, other)


def _train_rows(filtered: FilteredSet, *, kept: bool) -> np.ndarray:
    """Ids of the train rows that were filtered, or of those that were kept."""
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    ids: np.ndarray = (train.filter(train["kept"]) if kept else train)["row_id"].to_numpy()
    return ids


def _overlap(train_set: str, common: np.ndarray, first: np.ndarray, second: np.ndarray) -> KeptOverlap:
    left, also_left = (np.isin(common, one) for one in (first, second))
    both, either = int((left & also_left).sum()), int((left | also_left).sum())
    sizes = int(left.sum()), int(also_left.sum())
    return KeptOverlap(
        train_set, len(common), *sizes, both, both / either if either else None, expected_jaccard(len(common), *sizes)
    )
