"""Records of pairs of rankings, of properties that models may rely on, and of attributes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.comparisons.attributes import MOST_VALUES
from aflite_assets.analysis.comparisons.edited_copies import find_edited_copies
from aflite_assets.analysis.inputs import records as inputs
from aflite_assets.analysis.inputs.edited_copies import EditedCopies
from aflite_assets.analysis.inputs.records import AttributeValues, Cell, FilteredSet, LeaningInputs, LeaningSet, TestSet
from aflite_assets.analysis.scores.accuracy import match_predictions
from aflite_assets.analysis.scores.subsets import headline_set
from aflite_assets.analysis.train_sets import is_filtered_set, leaning_set
from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.removal_overlap import expected_jaccard
from aflite_assets.diagnostics.properties.values import MISSING, attribute_properties
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared import published
from aflite_assets.stages.shared.report_inputs import own_name


def read_rankings(
    filtered_sets: PublishedResult, controls: PublishedResult, filtered: Sequence[FilteredSet]
) -> dict[str, inputs.RankingPair]:
    """Return pairs of filtered sets that have the same representation but were made with different rankings.

    The two sets of a pair are compared by the rows kept at the end. The comparison is repeated for the rows that
    remained at each earlier size that both filters reached.
    """
    by_name = {one.representation: one for one in filtered}
    pairs = [(by_name[published.representation_of(filtered_sets, name)], one) for name, one in by_name.items()]
    pairs = [(first, second) for first, second in pairs if first is not second]
    in_the_end = {name: one.train.filter(pc.field("kept"))["row_id"] for name, one in by_name.items()}
    kept = {name: {"filtered": row_ids.to_numpy()} for name, row_ids in in_the_end.items()}
    for one in published.read_control_sets(controls) if pairs else []:
        if one.split == "train" and is_filtered_set(one.name):
            kept[one.representation][one.name] = one.row_ids
    found = {}
    for pair in pairs:
        first, second = (one.representation for one in pair)
        both = np.intersect1d(*(one.train["row_id"].to_numpy() for one in pair))
        overlaps = tuple(
            inputs.RankingOverlap(first, second, name, len(both), *overlap(both, row_ids, kept[second][name]))
            for name, row_ids in kept[first].items()
            if name in kept[second]
        )
        rankings = [str(one.settings.get("ranking", "predictability")) for one in pair]
        found[first] = inputs.RankingPair(first, second, (rankings[0], rankings[1]), overlaps)
    return found


def overlap(
    rows: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[int, int, int, float | None, float | None]:
    """Count the rows of two sets within `rows`; return both sizes, the size of the intersection, and the Jaccard index.

    The last value returned is the expected Jaccard index of two random sets with the same sizes. Both Jaccard indices
    are None if both sets are empty. All arrays contain row ids.
    """
    in_first, in_second = np.isin(rows, first), np.isin(rows, second)
    sizes, shared, either = (int(in_first.sum()), int(in_second.sum())), in_first & in_second, in_first | in_second
    jaccard = float(shared.sum() / either.sum()) if either.any() else None
    return (*sizes, int(shared.sum()), jaccard, expected_jaccard(len(rows), *sizes))


def read_leanings(
    result: PublishedResult, cells: Sequence[Cell], tested: Sequence[TestSet], named: Callable[[str], str] = str
) -> tuple[LeaningInputs, ...]:
    """Return every candidate property of `leaning_sets`, with its values on test rows and the evaluator's predictions.

    Args:
        cells: all cells of the grid of evaluators.
        named: a function that returns the source's name for a column of the raw table.
    """
    found = inputs.CANDIDATES.from_arrow(pq.read_table(result.file("candidates.parquet")))
    pointed, sets = (pq.read_table(result.file(f"{name}.parquet")) for name in ("pointed", "train_sets"))
    by_row, evaluator = [one for one in tested if one.unit == "row"], result.summary["evaluator"]
    drawn, read = set(sets["candidate"].unique().to_pylist()), []
    for one in found:
        known = _pointed(pointed, one.candidate, by_row), _predicted(one.candidate, cells, by_row)
        if one.kind in _OF_TEXTS:
            one = replace(one, name=own_name(one.kind, one.name, named))
        read.append(LeaningInputs(one, evaluator, *known, too_few_rows=one.candidate not in drawn))
    return tuple(read)


_OF_TEXTS = ("word", "topic word", "length")
"""Kinds of candidate properties with names that contain the name of a text column of the raw table."""


def _pointed(table: pa.Table, candidate: int, tested: Sequence[TestSet]) -> Mapping[str, np.ndarray]:
    own = table.filter(pc.equal(table["candidate"], candidate))
    found = {}
    for one in tested:
        rows = own.filter(pc.equal(own["test_set"], one.name))
        places = pc.index_in(pa.array(one.row_ids), value_set=rows["row_id"].combine_chunks())
        if rows.num_rows and not places.null_count:
            found[one.name] = rows["points_to"].take(places).to_numpy()
    return found


def _predicted(
    candidate: int, cells: Sequence[Cell], tested: Sequence[TestSet]
) -> Mapping[tuple[LeaningSet, str], Sequence[np.ndarray]]:
    found: dict[tuple[LeaningSet, str], Sequence[np.ndarray]] = {}
    for name in get_args(LeaningSet):
        trained = [one for one in cells if one.train_set == leaning_set(name, candidate)]
        for one in tested:
            matched = [match_predictions(cell, one) for cell in trained]
            found[name, one.name] = [each["predicted"].to_numpy() for each in matched if isinstance(each, pa.Table)]
    return found


def read_copies(
    tested: Sequence[TestSet], examples: Mapping[str, Examples], by_row: Collection[str]
) -> tuple[EditedCopies, ...]:
    """Return the challenge sets that are edited copies of natural test rows.

    `examples`: the rows of each test set. `by_row`: names of the test sets that are scored by row; other sets are left
    out.
    """
    sets = {one.name: one for one in tested if one.name in by_row}
    natural = headline_set(sets.values())
    naturals = [one.name for one in sets.values() if not one.challenge]
    naturals.sort(key=lambda name: natural is None or name != natural.name)
    challenges = {name: examples[name] for name, one in sets.items() if one.challenge}
    class_maps = {name: sets[name].class_map for name in challenges}
    return find_edited_copies({name: examples[name] for name in naturals}, challenges, class_maps)


def attribute_values(
    train: Examples, tested: Sequence[TestSet], examples: Mapping[str, Examples]
) -> tuple[AttributeValues, ...]:
    """Return the values of each attribute on the rows of the test sets.

    A challenge set that has the attribute as a category has the category's values. `train`: the unfiltered train rows,
    by which numbers are binned. `examples`: the rows of each test set.
    """
    found = []
    for one in attribute_properties(train):
        values = {}
        for test_set in tested:
            category = test_set.categories.get(one.name)
            own = one.values(examples[test_set.name], test_set.name)
            if own is None and category is not None and one.edges is None:
                own = np.array([value or MISSING for value in category.tolist()], dtype=object)
            if own is not None:
                values[test_set.name] = own
        known = pc.count_distinct(train.table[f"attribute.{one.name}"]).as_py()
        found.append(AttributeValues(one.name, known <= MOST_VALUES, values))
    return tuple(found)
