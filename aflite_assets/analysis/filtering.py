"""Results of filtering, per iteration and at the end: counts, class shares and predictability."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import FilteredSet, ScoreBin
from aflite_assets.analysis.tidy import TidyTable, record_of


@dataclass(frozen=True)
class IterationRow:
    """One published iteration of filtering.

    `rows_in`: number of rows that entered the iteration; `removed`: number of rows that the iteration removed.
    `train_*`: numbers of train rows; `scored_*`: numbers of rows that are scored but never trained on. `cutoff`: lowest
    score of a removed row, or None if no row was removed, as in the last iteration. `representation_bias`: mean
    predictability of the rows that entered the iteration, in [0, 1].
    """

    representation: str
    iteration: int
    rows_in: int
    train_rows_in: int
    scored_rows_in: int
    removed: int
    train_removed: int
    scored_removed: int
    cutoff: float | None
    representation_bias: float

    @classmethod
    def of(cls, representation: str, row: Mapping[str, object]) -> Self:
        """Build the record from one line of the published table of iterations. Columns that are no fields of the record
        are ignored.
        """
        make: Callable[..., Self] = cls
        columns = (field.name for field in fields(cls) if field.name != "representation")
        return make(representation, **{column: row[column] for column in columns})


@dataclass(frozen=True)
class FilterRow(IterationRow):
    """One iteration of filtering, and the accuracy of always guessing the largest class.

    `largest_class`: share of the largest class among the rows that entered the iteration, in [0, 1].
    `guessing_deviation`: standard deviation of the accuracy of random guesses, if each guess is right with probability
    `largest_class`.
    """

    rows_never_held_out: int
    largest_class: float
    guessing_deviation: float


def filter_table(filtered: FilteredSet) -> tuple[FilterRow, ...]:
    """Return the iterations of one filtering, in order."""
    stored = ITERATIONS.schema.names[1:-2]  # without the columns that are computed here
    rows = filtered.iterations.select(stored).sort_by("iteration").to_pylist()
    shares = _class_shares(filtered, [row["iteration"] for row in rows], 1).max(axis=1, initial=0)
    deviations = guessing_deviation(shares, np.array([row["rows_in"] for row in rows]))
    return tuple(
        FilterRow(filtered.representation, **row, largest_class=share, guessing_deviation=deviation)
        for row, share, deviation in zip(rows, shares.tolist(), deviations.tolist(), strict=True)
    )


def guessing_deviation(share: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the standard deviation, in [0, 1], of the accuracy of `rows` guesses.

    Each guess is right with probability `share`.
    """
    return np.sqrt(share * (1 - share) / np.maximum(rows, 1))


@dataclass(frozen=True)
class ClassShare:
    """Share, in [0, 1], of a class among the rows that entered an iteration. A class number identifies the class."""

    representation: str
    iteration: int
    label: int
    share: float


def class_shares(filtered: FilteredSet, classes: int) -> Iterator[ClassShare]:
    """Yield the share of each class in each iteration, ordered by iteration and class."""
    iterations = sorted(filtered.iterations["iteration"].to_pylist())
    for (row, label), share in np.ndenumerate(_class_shares(filtered, iterations, classes)):
        yield ClassShare(filtered.representation, iterations[row], label, float(share))


def _class_shares(filtered: FilteredSet, iterations: list[int], classes: int) -> np.ndarray:
    """Return class shares among the rows that entered each iteration: float64, with one row per iteration and at least
    `classes` columns.
    """
    pool = filtered.rows.filter(pa.array(filtered.pool))
    labels = pool["label"].to_numpy()
    removed_in = pc.fill_null(pool["removed_in_iteration"], np.iinfo(np.int64).max).to_numpy()
    counts = np.zeros((len(iterations) + 1, max(classes, int(labels.max(initial=0)) + 1)), np.int64)
    np.add.at(
        counts, (np.searchsorted(iterations, removed_in, side="right"), labels), 1
    )  # counted up to the iteration of its removal
    entered = counts[::-1].cumsum(axis=0)[::-1][1:]
    return entered / np.maximum(entered.sum(axis=1, keepdims=True), 1)


BINS = 20
"""Number of bins of predictability, each of width 0.05; the last bin includes 1."""


def bin_edges(bins: int = BINS) -> np.ndarray:
    """Return the edges of bins of equal width in [0, 1], float64."""
    return np.linspace(0, 1, bins + 1)


def binned(scores: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Count the scores (float32, finite, in [0, 1]) in each bin; the counts are int64.

    Scores and edges are compared in float32, because the filter compares its threshold in float32. Because of the
    float32 comparison, the score 0.7 lies in the bin that begins at 0.7.
    """
    places = np.searchsorted(bin_edges(bins).astype(np.float32), scores.astype(np.float32), side="right") - 1
    return np.bincount(np.minimum(places, bins - 1), minlength=bins)


def count_scores(
    representation: str, tables: Iterable[tuple[int, pa.Table]], rows: pa.Table, *, bins: int = BINS
) -> Iterator[ScoreBin]:
    """Yield the binned scores of the train rows, iteration by iteration, so that only one table is held in memory.

    `tables`: for each iteration, the iteration number and a table of the rows that entered the iteration. The table has
    the columns `row_id` and `predictability` (the last known value). Rows without a predictability are not in the
    table. `rows`: the rows of the filtering, with the columns `row_id`, `split` and `removed_in_iteration` (null for
    kept rows).
    """
    train, edges = rows.filter(pc.equal(rows["split"], "train")), bin_edges(bins).tolist()
    removed_in = pc.fill_null(train["removed_in_iteration"], -1)
    for iteration, table in tables:
        places = pc.index_in(table["row_id"], value_set=train["row_id"])  # null for other splits
        scores = table["predictability"].filter(pc.is_valid(places)).to_numpy()
        leaves = removed_in.take(places.drop_null()).to_numpy() == iteration
        counts = binned(scores, bins).tolist(), binned(scores[leaves], bins).tolist()
        for counted in zip(edges[:-1], edges[1:], *counts, strict=True):
            yield ScoreBin(representation, iteration, *counted)


@dataclass(frozen=True)
class PredictabilityBin:
    """Numbers of kept and removed train rows with a last known predictability from `low` up to `high`. The last bin
    includes the predictability 1.
    """

    representation: str
    low: float
    high: float
    kept: int
    removed: int


def predictability_counts(filtered: FilteredSet, *, bins: int = BINS) -> tuple[PredictabilityBin, ...]:
    """Count the train rows that have a predictability, in bins of equal width over [0, 1]."""
    train = filtered.train
    rows = train.filter(pc.is_finite(train["predictability"]))
    scores, kept = rows["predictability"].to_numpy(), rows["kept"].to_numpy(zero_copy_only=False)
    edges, sides = bin_edges(bins).tolist(), (binned(scores[side], bins).tolist() for side in (kept, ~kept))
    counts = zip(edges[:-1], edges[1:], *sides, strict=True)
    return tuple(PredictabilityBin(filtered.representation, *counted) for counted in counts)


@dataclass(frozen=True)
class ClassRemoval:
    """Numbers of train rows of one class that entered the filter and that were removed.

    The record also holds the share of the class among all train rows before and after filtering.
    """

    label: int
    rows: int
    removed: int
    share_before: float
    share_after: float


def removed_by_class(filtered: FilteredSet, classes: int) -> tuple[ClassRemoval, ...]:
    """Count the removed rows of each class, in the order of class numbers."""
    train = filtered.train
    labels, kept = train["label"].to_numpy(), train["kept"].to_numpy(zero_copy_only=False)
    before, after = np.bincount(labels, minlength=classes), np.bincount(labels[kept], minlength=classes)
    shares = (side / max(side.sum(), 1) for side in (before, after))
    columns = (column.tolist() for column in (before, before - after, *shares))
    return tuple(ClassRemoval(label, *numbers) for label, numbers in enumerate(zip(*columns, strict=True)))


@dataclass(frozen=True)
class FilterOutcome:
    """Numbers of train rows before and after filtering, the reason why the filter stopped, and the representation bias.

    `train_rows`: number of rows that entered the filter; `kept_rows`: number of rows that were kept. `runs`,
    `kept_jaccard`: Jaccard index of the train rows that two runs of the filter kept (`FilteredSet`). `bias`: the
    representation bias of the first and of the last pass. `largest_class`: share of the largest class among the rows
    that entered the last pass. `bias` and `largest_class` are None if there are no `passes`.
    """

    representation: str
    stop_reason: str
    train_rows: int
    kept_rows: int
    runs: int
    kept_jaccard: Mapping[str, float] | None
    passes: int
    bias: tuple[float, float] | None
    largest_class: float | None


def filter_outcome(filtered: FilteredSet) -> FilterOutcome:
    """Count the kept train rows of a filtered set and describe the first and the last pass of the filter."""
    train, passes = filtered.train, filter_table(filtered)
    return record_of(
        FilterOutcome,
        filtered,
        train_rows=train.num_rows,
        kept_rows=_count(train["kept"]),
        passes=len(passes),
        bias=(passes[0].representation_bias, passes[-1].representation_bias) if passes else None,
        largest_class=passes[-1].largest_class if passes else None,
    )


@dataclass(frozen=True)
class StillPredicted:
    """Numbers of kept train rows by their predictability in the last pass, which removed no row.

    `every_time`: number of rows with predictability 1. `over`: number of rows with a predictability of at least
    `threshold`. `unscored`: number of rows that were never held out.
    """

    rows: int
    every_time: int
    over: int
    unscored: int
    threshold: float
    selection: str
    remove: str
    stop_reason: str

    @property
    def all_under_threshold(self) -> bool:
        """True if every kept row has a predictability under the threshold; False if there are no rows."""
        return self.rows > 0 and self.over == 0 and self.unscored == 0


def still_predicted(filtered: FilteredSet) -> StillPredicted:
    """Count the kept train rows of a filtered set by their predictability."""
    settings = filtered.settings
    threshold = float(str(settings["threshold"]))
    score = filtered.train.filter(pc.field("kept"))["predictability"]
    return StillPredicted(
        rows=len(score),
        every_time=_count(pc.greater_equal(score, 1.0)),
        over=_count(pc.greater_equal(score, pa.scalar(threshold, score.type))),  # both rounded alike
        unscored=score.null_count,
        threshold=threshold,
        selection=str(settings.get("selection", "greedy")),
        remove=str(settings.get("remove", "rows")),
        stop_reason=filtered.stop_reason.lower(),
    )


def threshold_of(settings: Mapping[str, object]) -> float | None:
    """Return the threshold from the settings of a filtering, or None if there is none.

    The threshold is the lowest predictability that a removed row may have.
    """
    threshold = settings.get("threshold")
    return threshold if isinstance(threshold, int | float) else None


def _count(where: object) -> int:
    return int(pc.sum(where).as_py() or 0)


ITERATIONS = TidyTable("iterations", FilterRow)
CLASS_SHARES = TidyTable("class_shares", ClassShare)
PREDICTABILITY = TidyTable("predictability", PredictabilityBin)
PREDICTABILITY_BY_ITERATION = TidyTable("predictability_by_iteration", ScoreBin)
