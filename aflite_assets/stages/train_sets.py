"""The train sets that evaluators are compared on: full, filtered, earlier iterations of the filter, and controls."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.sources.examples import Examples
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.published import full_rows, read_control_sets


@dataclass(frozen=True)
class TrainSet:
    """One train set: full (representation None), filtered, or a control; `row_ids` int64 ascending."""

    name: str
    representation: str | None
    row_ids: np.ndarray


@dataclass(frozen=True)
class EarlierSet:
    """Train rows left when `iteration` began; `row_ids` int64 ascending."""

    iteration: int
    row_ids: np.ndarray


def earlier_set(rows: pa.Table, most: int) -> EarlierSet | None:
    """The largest set of at most `most` train rows that the filter had left, before or after any iteration.

    `rows`: the rows of a filtered set, with split, row_id and removed_in_iteration. None where the filter never had so
    few left.
    """
    train = rows.filter(pc.equal(rows["split"], "train"))
    removed = pc.fill_null(train["removed_in_iteration"], -1).to_numpy()
    row_ids, last = train["row_id"].to_numpy(), int(removed.max(initial=-1))
    for iteration in range(last + 2):
        left = (removed < 0) | (removed >= iteration)
        if left.sum() <= most:
            return EarlierSet(iteration, np.sort(row_ids[left]))
    return None


def why_not_earlier(rows: pa.Table, most: int) -> str:
    """Why a filtered set has no earlier set of `most` rows."""
    kept = pc.sum(pc.and_(pc.equal(rows["split"], "train"), pc.is_null(rows["removed_in_iteration"]))).as_py()
    return (
        f"the filter ended with {kept:,} train rows, so it never had at most {most:,} left; name a larger number, or "
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
