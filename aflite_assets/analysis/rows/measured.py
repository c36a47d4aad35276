"""Statistics of rows as tidy tables: data maps, picked answers, agreement of annotators, and lengths of texts."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet, TestSet
from aflite_assets.analysis.scores.questions import PICKED
from aflite_assets.analysis.tidy import TidyTable, record_of
from aflite_assets.data.examples import Examples
from aflite_assets.data.words import word_counts

DRAWS = 10
"""Number of random sets of rows for the comparison of text lengths."""

_MOST_PLACES = 40

_SHOWN = 0.995
"""Share of the texts that have a bin for their length; all longer texts share the last bin."""

_Side = Literal["kept", "removed"]
_TestedOn = Literal["full", "filtered"]


@dataclass(frozen=True)
class DataMapMeans:
    """Means over the kept or the removed train rows of a `DataMap`, in [0, 1]. A mean is None if there are no rows."""

    representation: str
    evaluator: str
    given: bool
    seeds: int
    epochs: int
    side: _Side
    rows: int
    confidence: float | None
    variability: float | None
    correctness: float | None


def data_map_means(data: BenchmarkData) -> Iterator[DataMapMeans]:
    """Yield, for each data map, the means over the kept rows and then the means over the removed rows."""
    for one in data.data_maps:
        for side in get_args(_Side):
            rows = one.table.filter(pc.equal(one.table["kept"], side == "kept"))
            values = {name: rows[name].to_numpy() for name in ("confidence", "variability", "correctness")}
            means = {name: float(np.mean(each)) if len(each) else None for name, each in values.items()}
            yield record_of(DataMapMeans, one, side=side, rows=rows.num_rows, **means)


@dataclass(frozen=True)
class AnswerPick:
    """Number of an evaluator's training runs on `full` that picked the answer `row_id` of a question.

    `trainings`: the number of all training runs of the evaluator on `full`.
    """

    row_id: int
    evaluator: str
    times: int
    trainings: int


def answer_picks(data: BenchmarkData) -> Iterator[AnswerPick]:
    """Yield the answers that were picked, by evaluator. Nothing is yielded if rows are not answers to questions."""
    asked = pa.array([one.name for one in data.test_sets if one.unit == "question" and not one.challenge], pa.string())
    times: Counter[tuple[int, str, str]] = Counter()
    trainings: Counter[tuple[str, str]] = Counter()
    for cell in data.cells:
        if cell.train_set == "full" and cell.predictions is not None and PICKED in cell.predictions.column_names:
            picks = cell.predictions.filter(pc.is_in(cell.predictions["test_set"], asked))
            picks = picks.filter(pc.is_valid(picks[PICKED]))
            names, row_ids = picks["test_set"].to_pylist(), picks[PICKED].to_pylist()
            trainings.update((cell.evaluator, name) for name in set(names))
            times.update((row_id, cell.evaluator, name) for row_id, name in zip(row_ids, names, strict=True))
    places = {row_id: place for place, row_id in enumerate(dict.fromkeys(row_id for row_id, *_ in times))}
    for (row_id, evaluator, name), count in sorted(times.items(), key=lambda one: places[one[0][0]]):
        yield AnswerPick(row_id, evaluator, count, trainings[evaluator, name])


@dataclass(frozen=True)
class AnnotatorAgreement:
    """Agreement of single annotators with the label, on the test rows for one train set.

    `share`, in [0, 1]: the share of a row's annotators that gave the row's label, averaged over the annotated rows;
    None if no row is annotated. `rows`: number of annotated rows among the `test_rows`. `difference`: for filtered
    rows, the share over all rows minus `share`, in points.
    """

    test_set: str
    train_set: str
    representation: str | None
    tested_on: _TestedOn
    test_rows: int
    rows: int
    share: float | None
    difference: float | None


def annotator_agreement(data: BenchmarkData) -> Iterator[AnnotatorAgreement]:
    """Yield one record for each train set and each natural test set that has annotators' labels."""
    for test_set in data.test_sets:
        shares = None if test_set.challenge else annotators_right(data, test_set)
        if shares is None:
            continue
        full = float(shares[~np.isnan(shares)].mean())
        for train_set, representation, tested_on in _compared_columns(data, test_set):
            chosen = shares[test_set.kept[str(representation)]] if tested_on == "filtered" else shares
            annotated = chosen[~np.isnan(chosen)]
            share = float(annotated.mean()) if len(annotated) else None
            difference = None if share is None or train_set != "filtered" else 100 * (full - share)
            compared = (test_set.name, train_set, representation, tested_on)
            yield AnnotatorAgreement(*compared, len(chosen), len(annotated), share, difference)


def _compared_columns(data: BenchmarkData, test_set: TestSet) -> Iterator[tuple[str, str | None, _TestedOn]]:
    """Yield each train set with the filtering it belongs to and the test rows to describe.

    The test rows are all rows if the filtering did not change the test set.
    """
    yield "full", None, "full"
    for name in data.representations:
        tested_on: _TestedOn = "filtered" if name in test_set.kept else "full"
        pair = ((data.control(name), name, tested_on), ("filtered", name, tested_on))
        yield from dict.fromkeys((("random", name, "full"), *pair))


def annotators_right(data: BenchmarkData, test_set: TestSet) -> np.ndarray | None:
    """Return, for each row, the share of the row's annotators that gave the row's label.

    The shares are float64 in [0, 1], and NaN for rows without annotators. Return None if no row has annotators, or if
    the unit is a question, because annotators saw single answers. If the label is the majority vote of the same
    annotators, as in SNLI, the share is higher than a new annotator would reach.
    """
    if test_set.unit == "question" or "annotator_labels" not in data.examples.table.column_names:
        return None
    examples = data.examples.select(test_set.row_ids)
    column = examples.table["annotator_labels"]
    counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    if not counts.any():
        return None
    row = np.repeat(np.arange(len(counts)), counts)
    right = pc.list_flatten(column).to_numpy() == examples.labels[row]
    return np.bincount(row, weights=right, minlength=len(counts)) / np.where(counts, counts, np.nan)


@dataclass(frozen=True)
class LengthShare:
    """Shares, in [0, 1], of kept, removed and random rows with a text length in one bin (SustaiNLP 2020, Figure 2).

    The length is the number of words of the text in `column`; `column_name` is the source's name of this column. The
    bin holds lengths from `start` up to the next bin's `start`; the last bin holds all longer texts. `random_*`: mean,
    minimum and maximum over random sets with as many rows as were kept. `kept_rows`, `removed_rows`: numbers of kept
    and removed rows that have the text. The share of kept, removed or random rows is None if none of these rows has the
    text.
    """

    representation: str
    column: str
    column_name: str
    start: int
    kept: float | None
    removed: float | None
    random_mean: float | None
    random_least: float | None
    random_most: float | None
    kept_rows: int
    removed_rows: int
    kept_mean: float | None
    removed_mean: float | None


def length_shares(
    examples: Examples, filtered: FilteredSet, named: Callable[[str], str] = str
) -> Iterator[LengthShare]:
    """Yield the bins of each text column, computed on the train rows that entered the filter.

    No bins are yielded if there are no texts or no rows. Random set i is drawn with the seed (0, i). `named`: a
    function that returns the source's name of a column. Raises DataError if a row of the filtering is not among the
    examples.
    """
    train = filtered.train
    names = [name for name in ("text", "text_pair") if name in examples.table.column_names]
    if examples.modality != "text" or not train.num_rows:
        return
    narrow = Examples(examples.table.select(["row_id", *names]), examples.label_names)
    table = narrow.select(train["row_id"].to_numpy()).table
    kept = train["kept"].to_numpy(zero_copy_only=False).astype(bool)
    generators = [np.random.default_rng([0, number]) for number in range(DRAWS)]
    drawn = [generator.choice(len(kept), int(kept.sum()), replace=False) for generator in generators]
    for name in names:
        words = word_counts(table[name])
        if not np.isnan(words).all():
            yield from _shares((filtered.representation, name, named(name)), words, kept, drawn)


def _shares(
    where: tuple[str, str, str], words: np.ndarray, kept: np.ndarray, drawn: list[np.ndarray]
) -> Iterator[LengthShare]:
    known = words[~np.isnan(words)]
    shortest, longest = int(known.min()), int(np.quantile(known, _SHOWN, method="inverted_cdf"))
    starts = np.arange(shortest, longest + 1, -(-(longest + 1 - shortest) // _MOST_PLACES))

    def share(chosen: np.ndarray) -> np.ndarray:
        places = np.searchsorted(starts, chosen[~np.isnan(chosen)], side="right") - 1
        return np.bincount(places, minlength=len(starts)) / (len(places) or np.nan)

    sides = [words[side & ~np.isnan(words)] for side in (kept, ~kept)]
    random = np.array([share(words[rows]) for rows in drawn])
    columns = np.array([*map(share, sides), random.mean(axis=0), random.min(axis=0), random.max(axis=0)])
    means = [float(side.mean()) if len(side) else None for side in sides]
    for start, column in zip(starts.tolist(), columns.T.tolist(), strict=True):
        shares: list[Any] = [None if np.isnan(one) else one for one in column]
        yield LengthShare(*where, start, *shares, *map(len, sides), *means)


DATA_MAPS = TidyTable("data_maps", DataMapMeans)
ANSWER_PICKS = TidyTable("answer_picks", AnswerPick)
ANNOTATORS = TidyTable("annotators", AnnotatorAgreement)
LENGTHS = TidyTable("lengths", LengthShare)
