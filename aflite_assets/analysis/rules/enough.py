"""Whether a difference of accuracies is known well enough to be spoken of, and what would do if not; arrays alone."""

import math
from collections.abc import Sequence

import numpy as np

from aflite_assets.analysis.intervals import CrossedInterval, crossed_interval, upper_quantile
from aflite_assets.analysis.rules.dataset_verdict import Shortfall

WIDEST_SAID = 20.0
"""Points: a wider interval that holds zero says nothing, and sentences leave it to the tables."""

_MOST_SEEDS = 100


def says_nothing(interval: CrossedInterval) -> bool:
    """Whether an interval holds zero and is wider than `WIDEST_SAID`."""
    return interval.low <= 0 <= interval.high and interval.high - interval.low > WIDEST_SAID


def lacking(first: Sequence[np.ndarray], second: Sequence[np.ndarray], groups: np.ndarray | None) -> Shortfall | None:
    """What `crossed_interval` of these has too little of, and about how much would make it `WIDEST_SAID` wide.

    None where it says something. Rows (groups, where rows belong together) are lacking where the interval is too wide
    with the trainings as they are; its width then falls with the square root of their number. Otherwise seeds are: the
    least number on each side at which the formula of `crossed_spread` gives that width, if trainings vary as these do
    and rows are drawn with the same variance.

    Args:
        first: per training of one side which rows it got right, bool or shares in [0, 1].
        second: the same of the other side.
        groups: codes, one per row; None where every row is its own.

    Raises:
        InvalidInputError: a side has no training, there is no row, or lengths differ.
    """
    interval = crossed_interval(first, second, groups)
    if not says_nothing(interval):
        return None
    rows = crossed_interval([np.mean(first, axis=0)], [np.mean(second, axis=0)], groups)
    width = rows.high - rows.low
    trained = min(interval.trainings)
    if width > WIDEST_SAID or trained < 2:
        grouped = interval.groups < len(first[0])
        needed = math.ceil(interval.groups * (width / WIDEST_SAID) ** 2)
        return Shortfall("groups" if grouped else "rows", interval.groups, needed)
    return Shortfall("seeds", trained, _seeds(first, second, rows))


def _seeds(first: Sequence[np.ndarray], second: Sequence[np.ndarray], rows: CrossedInterval) -> int:
    degrees = rows.degrees_of_freedom
    between_rows = ((rows.high - rows.low) / 200 / upper_quantile(degrees)) ** 2
    apart = sum(float(np.var([one.mean() for one in side], ddof=1)) for side in (first, second))
    for seeds in range(min(len(first), len(second)) + 1, _MOST_SEEDS):
        own, trainings = 2 * (seeds - 1), apart / seeds
        total = trainings + between_rows
        free = total**2 / (trainings**2 / own + between_rows**2 / degrees)
        if 200 * upper_quantile(free) * math.sqrt(total) <= WIDEST_SAID:
            return seeds
    return _MOST_SEEDS
