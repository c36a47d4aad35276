"""Conversion of shares to numbers of rows: the sizes of the filter and of the warm-up split for a given dataset."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import numpy as np

from aflite_assets.algorithm import FilterSettings
from aflite_assets.algorithm.settings import check_sizes
from aflite_assets.data.sampling import resolve_count
from aflite_assets.errors import DataError, InvalidInputError
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.filter import EvaluationRows, FilterSpec
from aflite_assets.specs.models.settings import UntrainedSpec
from aflite_assets.specs.warmup import WarmupSpec

LARGEST_SAMPLE = 0.16
"""Largest sample of a learning curve, as a share of the train rows; the papers spend 10 % on warm-up.

Each smaller sample has half as many rows as the next larger one.
"""

MOST_SAMPLES = 5
LEAST_PER_CLASS = 8
"""Average number of rows per class in the smallest sample."""

HELD_BACK, FEWEST_HELD_BACK, ENOUGH_HELD_BACK, MOST_HELD_BACK = 0.02, 100, 500, 2_000
"""Share of the train rows that is held back, and bounds of the number of held-back rows.

With 500 rows, Wilson's interval around an accuracy of 80 % extends 3.5 points to each side; with 2,000 rows, 1.8.
"""
MOST_HELD_BACK_SHARE = 0.05


@dataclass(frozen=True)
class CurveSizes:
    """Numbers of rows for a learning curve: the samples' sizes (ascending) and the number of held-back rows."""

    samples: tuple[int, ...]
    held_back: int

    @property
    def most(self) -> int:
        """The number of rows, including held-back rows, that are spent if the largest sample is chosen."""
        return self.samples[-1] + self.held_back


def curve_sizes(train_rows: int, *, classes: int) -> CurveSizes:
    """Return the sample sizes that `warmup.size: auto` tries, and the number of held-back rows.

    Sizes double from one sample to the next, up to 16 % of the train rows. The number of held-back rows is 2 % of the
    train rows, raised to 500 and limited to 2,000 rows. Never more than 5 % of the train rows are held back.

    Raises:
        DataError: there are too few rows for two samples, or too few held-back rows for a useful accuracy.
    """
    samples = [round(LARGEST_SAMPLE * train_rows / 2**halved) for halved in reversed(range(MOST_SAMPLES))]
    enough = tuple(size for size in samples if size >= LEAST_PER_CLASS * classes)
    held_back = min(max(HELD_BACK * train_rows, ENOUGH_HELD_BACK), MOST_HELD_BACK, MOST_HELD_BACK_SHARE * train_rows)
    if len(enough) < 2 or held_back < FEWEST_HELD_BACK:
        needed = max(FEWEST_HELD_BACK / MOST_HELD_BACK_SHARE, 2 * LEAST_PER_CLASS * classes / LARGEST_SAMPLE)
        raise DataError(
            f"`warmup.size` is `auto`, which needs {needed:.0f} train rows for {classes} classes, but the dataset has "
            f"{train_rows}; set `warmup.size` to a share such as 0.1, or to a number of rows"
        )
    return CurveSizes(enough, round(held_back))


def warmup_rows(warmup: WarmupSpec, train_rows: int, *, needed: bool, classes: int = 2) -> int:
    """Return the number of train rows to spend on training encoders, or 0 if no representation needs an encoder.

    With `warmup.size: auto`, return the largest number of rows that may be chosen. `classes` is used only with
    `warmup.size: auto`.

    Raises:
        DataError: the size is impossible, or leaves too few rows to filter.
    """
    if not needed:
        return 0
    if warmup.size == "auto":
        return curve_sizes(train_rows, classes=classes).most
    size = resolve_count(warmup.size, train_rows, field="warmup.size", kind="train rows")
    if size > train_rows - 2:
        raise DataError(
            f"`warmup.size` is {warmup.size}, which leaves {train_rows - size:,} of {train_rows:,} train rows to "
            "filter; lower `warmup.size`, for instance to 0.1"
        )
    return size


def sample_misfits(
    spec: DatasetSpec, samples: Iterable[int], rows: Mapping[str, int], *, classes: int
) -> dict[int, str]:
    """Return the sample sizes that are too small for the warm-up or the filter; each value is the reason.

    `rows`: number of rows per split in the whole dataset. The rows of pooled splits enter the pool in addition to the
    sample. With `warmup.size: auto`, enough rows must be left for every number of warm-up rows that may be chosen.
    """
    pooled = sum(count for split, count in rows.items() if split != "train" and _enters(spec.filter, split) == "pooled")
    needed = any(not isinstance(encoder, UntrainedSpec) for encoder in spec.representations.values())
    problems = {}
    for sample in samples:
        try:
            for spent in _may_be_spent(spec.warmup, sample, needed=needed, classes=classes):
                left = sample - spent
                for name in spec.representations:
                    filter_settings(spec.filter.of_representation(name), left + pooled, spent, train_rows=left)
        except DataError as error:
            problems[sample] = str(error)
    return problems


def _may_be_spent(warmup: WarmupSpec, train_rows: int, *, needed: bool, classes: int) -> list[int]:
    """Return the possible numbers of warm-up rows.

    With `warmup.size: auto`, there is one number per sample size; with any other setting, there is only one number.
    """
    if needed and warmup.size == "auto":
        curve = curve_sizes(train_rows, classes=classes)
        return [size + curve.held_back for size in curve.samples]
    return [warmup_rows(warmup, train_rows, needed=needed)]


def in_pool(spec: FilterSpec, splits: np.ndarray) -> np.ndarray:
    """Return a bool per row: True if the filter trains on the row (train rows and rows of pooled splits)."""
    return np.isin(splits, [split for split in set(splits) if _enters(spec, split) == "pooled"])


def only_scored(spec: FilterSpec, splits: np.ndarray) -> np.ndarray:
    """Return a bool per row: True if the filter scores the row but never trains on it."""
    return np.isin(splits, [split for split in set(splits) if _enters(spec, split) == "scored"])


def _enters(spec: FilterSpec, split: str) -> EvaluationRows:
    return "pooled" if split == "train" else spec.evaluation_rows_of(split)


_AS_GIVEN = frozenset(FilterSpec.model_fields) & {field.name for field in fields(FilterSettings)}
_AS_GIVEN -= {"target_size", "train_size", "slice_size", "stop_at_chance"}
"""Settings with the same name and value in `FilterSpec` (the dataset's YAML file) and in the algorithm's settings."""


def filter_settings(spec: FilterSpec, pool_rows: int, warmup: int, *, train_rows: int | None = None) -> FilterSettings:
    """Return the algorithm's settings for a pool with `pool_rows` rows, of which `train_rows` are train rows.

    By default, `train_rows` equals `pool_rows`. `target_size` is a number of train rows; `train_size` and `slice_size`
    are numbers of rows of the pool. `train_size` defaults to the number of warm-up rows (ICML 2020, section 2) or,
    without warm-up rows, to a tenth of the pool.

    Raises:
        DataError: a size is impossible in the pool, or the sizes contradict each other.
    """
    train_size = spec.train_size if spec.train_size is not None else (warmup or 0.1)
    settings = FilterSettings(
        target_size=resolve_count(
            spec.target_size,
            pool_rows if train_rows is None else train_rows,
            field="filter.target_size",
            kind="train rows to filter",
        ),
        train_size=resolve_count(train_size, pool_rows, field="filter.train_size", kind="rows to filter"),
        slice_size=resolve_count(spec.slice_size, pool_rows, field="filter.slice_size", kind="rows to filter"),
        stop_at_chance=bool(spec.stop_at_chance),
        ranking=spec.rank,
        **{name: getattr(spec, name) for name in _AS_GIVEN},
    )
    try:
        check_sizes(settings, pool_rows=pool_rows, counted_rows=train_rows or pool_rows)
    except InvalidInputError as error:
        raise DataError(f"`filter.{str(error).removeprefix('`')}") from error
    return settings
