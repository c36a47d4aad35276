"""From shares to counts: the filter's and the warm-up split's sizes for a dataset at hand."""

from typing import Any

import numpy as np

from aflite_assets.algorithm import FilterSettings
from aflite_assets.errors import DataError
from aflite_assets.sources.specs import FilterSpec, WarmupSpec


def resolve_count(count: float | int, rows: int, *, field: str) -> int:
    """A count as it is; a share of `rows` rounded to a whole number.

    Raises:
        DataError: a count above `rows`, or a share that rounds to no row.
    """
    size = count if isinstance(count, int) else round(count * rows)
    if not 1 <= size <= rows:
        raise DataError(f"{field} is {count}, which is {size} of {rows} rows; choose between 1 and {rows} rows")
    return size


def warmup_rows(warmup: WarmupSpec, train_rows: int, *, needed: bool) -> int:
    """Rows of the train split to spend on the encoders; none when no representation is a model.

    Raises:
        DataError: the size cannot be met, or leaves nothing to filter.
    """
    if not needed:
        return 0
    size = resolve_count(warmup.size, train_rows, field="warmup.size")
    if size > train_rows - 2:
        raise DataError(f"warmup.size {warmup.size} leaves {train_rows - size} of {train_rows} train rows; lower it")
    return size


def in_pool(spec: FilterSpec, splits: np.ndarray) -> np.ndarray:
    """Which rows the filter trains on and counts its sizes by: the train rows, with `pooled` every row; bool."""
    return np.ones(len(splits), bool) if spec.evaluation_rows == "pooled" else splits == "train"


def filter_settings(spec: FilterSpec, pool_rows: int, warmup: int) -> FilterSettings:
    """The algorithm's settings for a pool of `pool_rows` train rows.

    `train_size` defaults to the number of warm-up rows (ICML 2020, section 2), or a tenth of the pool without any.

    Raises:
        DataError: a size cannot be met by the pool, or the sizes contradict each other (t < n, k <= n).
    """
    train_size = spec.train_size if spec.train_size is not None else (warmup or 0.1)
    sizes: dict[str, Any] = {
        name: resolve_count(count, pool_rows, field=f"filter.{name}")
        for name, count in (
            ("target_size", spec.target_size),
            ("train_size", train_size),
            ("slice_size", spec.slice_size),
        )
    }
    if sizes["train_size"] >= sizes["target_size"]:
        raise DataError(
            f"filter.train_size is {sizes['train_size']} rows and target_size {sizes['target_size']}; a classifier "
            "trains on fewer rows than are ever left, so lower train_size or raise target_size"
        )
    if sizes["slice_size"] > sizes["target_size"]:
        raise DataError(
            f"filter.slice_size is {sizes['slice_size']} rows and target_size {sizes['target_size']}; a slice is at "
            "most as large as what must be left, so lower slice_size or raise target_size"
        )
    return FilterSettings(
        **sizes,
        n_partitions=spec.n_partitions,
        threshold=spec.threshold,
        selection=spec.selection,
        classifier=spec.classifier,
        inverse_regularization=spec.inverse_regularization,
        remove=spec.remove,
    )
