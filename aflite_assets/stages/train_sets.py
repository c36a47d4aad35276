"""The train sets that evaluators are compared on: full, filtered, the filter at earlier sizes, and controls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.algorithm.partitions import fill_in_order
from aflite_assets.algorithm.streams import Purpose, generator
from aflite_assets.sources.examples import Examples
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.published import full_rows, read_control_sets

_NEVER = np.iinfo(np.int64).max
"""Stands for the iteration in which kept rows left."""


@dataclass(frozen=True)
class TrainSet:
    """One train set: full (representation None), filtered, or a control; `row_ids` int64 ascending."""

    name: str
    representation: str | None
    row_ids: np.ndarray


@dataclass(frozen=True)
class EarlierSet:
    """Train rows that were left when the filter was down to some number; `row_ids` int64 ascending.

    `iteration`: the one that passed the number, None where the filter began with no more rows. All that left before it
    are gone, and of its own slice the first by the filter's own order: those whose key is over `cutoff`, and of the
    slice's train rows at exactly that key the share `tied_share`, in (0, 1]. The key is predictability; with Gumbel
    selection its logarithm plus the noise drawn for the row. Rows of other splits that left in `iteration` can be told
    apart by the same two numbers. Both are None where nothing of a slice is cut.
    """

    iteration: int | None
    row_ids: np.ndarray
    cutoff: float | None = None
    tied_share: float | None = None


def earlier_set(rows: pa.Table, size: int, *, settings: Mapping[str, Any], seed: int) -> EarlierSet | None:
    """What the filter would have kept with `size` train rows as its target: exactly as many.

    The slice of the iteration that passed `size` is cut to it as the filter cuts its last slice, ties drawn from
    (seed, iteration). Where whole groups are removed, one that would go below `size` stays. None where the filter never
    had so few rows left; all rows where it began with no more.

    `rows`: of a filtered set, in published order, with row_id, split, removed_in_iteration, predictability,
    held_out_count and, where whole groups are removed, group. `settings` and `seed` are those of the filter, the
    settings with evaluation_rows.
    """
    train = np.asarray(rows["split"]) == "train"
    last_seen = pc.fill_null(rows["removed_in_iteration"], _NEVER).to_numpy()
    counts = np.bincount(last_seen[train & (last_seen < _NEVER)]) if (last_seen < _NEVER).any() else np.zeros(0, int)
    left = train.sum() - np.cumsum(counts)
    row_ids = rows["row_id"].to_numpy()
    if train.sum() <= size:
        return EarlierSet(None, np.sort(row_ids[train]))
    if not (left <= size).any():
        return None
    iteration = int(np.argmax(left <= size))
    entered = (last_seen >= iteration) & (train | (settings["evaluation_rows"] == "pooled"))
    cut = _cut(
        rows.filter(pa.array(entered)), iteration, int(train[entered].sum()) - size, settings=settings, seed=seed
    )
    gone = row_ids[entered][cut.gone]
    staying = train & (last_seen >= iteration) & ~np.isin(row_ids, gone)
    return EarlierSet(iteration, np.sort(row_ids[staying]), cut.cutoff, cut.tied_share)


@dataclass(frozen=True)
class _Cut:
    """Rows of a slice that go, bool per row of the pool; the other fields as in `EarlierSet`."""

    gone: np.ndarray
    cutoff: float | None
    tied_share: float | None


def _cut(pool: pa.Table, iteration: int, allowed: int, *, settings: Mapping[str, Any], seed: int) -> _Cut:
    """The first `allowed` train rows of an iteration's slice, in the order in which `choose_slice` took them.

    `pool`: the rows that the iteration drew from, in published order, on which its draws depend.
    """
    units = np.arange(pool.num_rows)
    if settings["remove"] == "groups":
        units = np.unique(pool["group"].to_numpy(), return_inverse=True)[1]
    in_slice = pc.fill_null(pc.equal(pool["removed_in_iteration"], iteration), False).to_numpy(zero_copy_only=False)
    train = np.asarray(pool["split"]) == "train"
    number = int(units.max()) + 1
    keys = _keys(pool, units, in_slice, iteration, settings=settings, seed=seed)
    ties = generator(seed, Purpose.TIES, iteration).permutation(number)
    candidates = np.unique(units[in_slice & train])
    ordered = candidates[np.lexsort((ties[candidates], -keys[candidates]))]
    sizes = np.bincount(units[train], minlength=number)
    taken = ordered[fill_in_order(sizes[ordered], allowed)]
    gone = np.isin(units, taken) & in_slice
    if not len(taken):
        return _Cut(gone, None, None)
    cutoff = float(keys[taken].min())
    tied = in_slice & train & (keys[units] == cutoff)
    return _Cut(gone, cutoff, float(gone[tied].mean()))


def _keys(
    pool: pa.Table, units: np.ndarray, in_slice: np.ndarray, iteration: int, *, settings: Mapping[str, Any], seed: int
) -> np.ndarray:
    """What the units of a slice were ordered by, from the scores with which their rows left; NaN for other units."""
    held_out = np.where(in_slice, pool["held_out_count"].to_numpy(), 0)
    shares = pc.fill_null(pool["predictability"], 0.0).to_numpy()
    # Two classifiers per partition make halves; rounding takes back what float32 lost, so that ties are ties.
    right = np.rint(2.0 * held_out * shares) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        keys: np.ndarray = np.bincount(units, right) / np.bincount(units, held_out)
        if settings["selection"] != "greedy":
            keys = np.log(keys) + generator(seed, Purpose.GUMBEL, iteration).gumbel(size=len(keys))
    return keys


def why_not_earlier(rows: pa.Table, size: int) -> str:
    """Why a filtered set has no earlier set of `size` rows."""
    kept = pc.sum(pc.and_(pc.equal(rows["split"], "train"), pc.is_null(rows["removed_in_iteration"]))).as_py()
    return (
        f"the filter ended with {kept:,} train rows, so it never had {size:,} left; name a larger number, or "
        "lower filter.target_size or filter.threshold"
    )


def train_sets(inputs: Inputs, raw: Examples, seed: int, *, include_warmup: bool) -> list[TrainSet]:
    """Every train set of one seed: full, then each representation's filtered set and its controls."""
    full = full_rows(raw, inputs["warmup_split"], include_warmup=include_warmup).in_split("train")
    sets = [TrainSet("full", None, full.row_ids)]
    controls = read_control_sets(inputs["control_sets"])
    for name, part in inputs["filtered_sets"].parts.items():
        rows = pq.read_table(part.file("rows.parquet"), filters=[("split", "=", "train"), ("kept", "=", True)])
        sets.append(TrainSet("filtered", name, np.sort(rows["row_id"].to_numpy())))
        sets += [
            TrainSet(control.name, name, control.row_ids)
            for control in controls
            if control.representation == name and control.split == "train" and control.seed in (seed, None)
        ]
    return sets
