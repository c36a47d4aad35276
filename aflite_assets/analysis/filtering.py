"""What filtering did, by iteration and in the end: counts, shares of classes, predictability."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.analysis.inputs.score_counts import bin_edges, binned


@dataclass(frozen=True)
class FilterRow:
    """One iteration of filtering.

    `rows_in`, `removed`: rows of the pool, of which `train_rows_in`, `train_removed` are train rows. `scored_*` count
    the rows that are scored but never trained on.
    """

    iteration: int
    rows_in: int
    train_rows_in: int
    scored_rows_in: int
    removed: int
    train_removed: int
    scored_removed: int
    cutoff: float | None
    representation_bias: float
    rows_never_held_out: int


def filter_table(filtered: FilteredSet) -> tuple[FilterRow, ...]:
    """The iterations of one filtering, in order."""
    rows = filtered.iterations.select(list(FilterRow.__dataclass_fields__)).to_pylist()
    return tuple(sorted((FilterRow(**row) for row in rows), key=lambda row: row.iteration))


def largest_class_by_iteration(filtered: FilteredSet) -> tuple[float, ...]:
    """Share in [0, 1] of the largest class among the rows of the pool that entered each iteration.

    These are the rows whose mean predictability is the representation bias.
    """
    pool = filtered.rows.filter(pa.array(filtered.pool))
    labels = pool["label"].to_numpy()
    removed_in = pc.fill_null(pool["removed_in_iteration"], np.iinfo(np.int64).max).to_numpy()
    pools = [labels[removed_in >= row.iteration] for row in filter_table(filtered)]
    return tuple(float(np.bincount(pool).max() / len(pool)) if len(pool) else 0.0 for pool in pools)


@dataclass(frozen=True)
class FilterOutcome:
    """How many train rows a filtering kept, why it stopped, and what became of representation bias.

    `train_rows` entered it and `kept_rows` of them stayed. `kept_jaccard`: of several `runs`, how alike they are (mean,
    least, by_chance, in [0, 1]). `bias`: representation bias in the first and in the last of its `passes`;
    `largest_class`: the share of the largest class among the rows of the pool that entered the last pass. Both lie in
    [0, 1], and are None if there was no pass.
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
    """Count the kept train rows of a filtered set and read its first and last pass."""
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    passes = filter_table(filtered)
    return FilterOutcome(
        filtered.representation,
        filtered.stop_reason,
        train.num_rows,
        _rows(train["kept"]),
        filtered.runs,
        filtered.kept_jaccard,
        len(passes),
        (passes[0].representation_bias, passes[-1].representation_bias) if passes else None,
        largest_class_by_iteration(filtered)[-1] if passes else None,
    )


@dataclass(frozen=True)
class StillPredicted:
    """Kept train rows by their predictability in the last pass, which scored them and removed nothing.

    `rows`: all of them. `every_time`: those of predictability 1. `over`: those at or over `threshold`. `unscored`:
    those that were never held out.
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
        """Whether every kept row has a predictability, and one under the threshold; False without rows."""
        return self.rows > 0 and self.over == 0 and self.unscored == 0


def still_predicted(filtered: FilteredSet) -> StillPredicted:
    """Count the kept train rows of a filtered set."""
    threshold = float(str(filtered.settings["threshold"]))
    train = filtered.rows.filter(pc.and_(pc.equal(filtered.rows["split"], "train"), filtered.rows["kept"]))
    score = train["predictability"]
    return StillPredicted(
        train.num_rows,
        _rows(pc.greater_equal(score, 1.0)),
        _rows(pc.greater_equal(score, pa.scalar(threshold, score.type))),  # both rounded alike
        score.null_count,
        threshold,
        str(filtered.settings.get("selection", "greedy")),
        str(filtered.settings.get("remove", "rows")),
        filtered.stop_reason.lower(),
    )


def _rows(where: object) -> int:
    return int(pc.sum(where).as_py() or 0)


def predictability_counts(filtered: FilteredSet, *, bins: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bin edges in [0, 1], and the train rows kept and removed in each bin, int64."""
    rows = filtered.rows.filter(
        pc.and_(pc.equal(filtered.rows["split"], "train"), pc.is_finite(filtered.rows["predictability"]))
    )
    scores, kept = rows["predictability"].to_numpy(), rows["kept"].to_numpy(zero_copy_only=False)
    return bin_edges(bins), binned(scores[kept], bins), binned(scores[~kept], bins)


def class_shares(filtered: FilteredSet, classes: int) -> np.ndarray:
    """Each class's share in [0, 1] of the pool rows that entered each iteration, iterations x classes float64."""
    pool = filtered.rows.filter(pa.array(filtered.pool))
    labels = pool["label"].to_numpy()
    removed_in = pc.fill_null(pool["removed_in_iteration"], np.iinfo(np.int64).max).to_numpy()
    pools = [labels[removed_in >= row.iteration] for row in filter_table(filtered)]
    counts = [np.bincount(pool, minlength=classes) / max(len(pool), 1) for pool in pools]
    return np.array(counts).reshape(len(pools), classes)


def guessing_deviation(share: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Standard deviation, in [0, 1], of the share that guesses right with probability `share` get on so many rows."""
    return np.sqrt(share * (1 - share) / np.maximum(rows, 1))
