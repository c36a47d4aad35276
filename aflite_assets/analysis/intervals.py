"""Confidence intervals of accuracies and of their differences. Training runs and groups of test rows are treated as
random samples. The functions use only arrays.

The design is that of multi-reader, multi-case studies in diagnostic imaging: training runs correspond to readers, and
groups of test rows correspond to cases.

The variance components are from Obuchowski and Rockette (1995), Communications in Statistics - Simulation and
Computation 24:285, and Gallas (2006), Academic Radiology 13:353. The degrees of freedom follow Hillis (2007),
Statistics in Medicine 26:596. Two-way clustering adds both variances and subtracts the part counted twice: Cameron,
Gelbach and Miller (2011), Journal of Business and Economic Statistics 29:238. Older sources are Welch (1947),
Biometrika 34:28, and Satterthwaite (1946), Biometrics Bulletin 2:110.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from aflite_assets.errors import InvalidInputError

LOWER_QUARTILE = 0.25
"""Quantile at which an estimated variance between training runs is assumed to lie, for the degrees of freedom. With few
degrees of freedom, the estimates in Satterthwaite's formula are often far too small by chance. At the worst ratio of
variances, 13 % of null effects are then reported as effects with two training runs per side, and 8 % with three (normal
data). If the formula uses the variance's upper bound instead, the rate is 6 %.
"""

CONFIDENCE = 0.95
_NORMAL_QUANTILE_975 = 1.959963984540054
LEAST_DEGREES = 1e-3
"""Smallest number of degrees of freedom, used if group sizes are so unequal that one group holds nearly all rows."""

Trainings = Sequence[np.ndarray]
"""One array per training run, over the same test rows: bool (correct or wrong), or the share of several runs that were
correct, in [0, 1].
"""


class Interval(NamedTuple):
    """Bounds of a two-sided 95 % interval, both in [0, 1]."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the distance between the bounds."""
        return (self.high - self.low) / 2


def wilson_interval(accuracy: float, rows: float, degrees_of_freedom: float = math.inf) -> Interval:
    """Return Wilson's two-sided 95 % score interval for a share.

    The interval is (p + z^2/2n ± z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), for a share p of n rows and a normal
    quantile z (Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA 22). If rows
    belong together in groups, `rows` is the effective number of rows (`effective_rows`) and z is a quantile of t. An
    effective number of rows is recommended for clustered samples by Dean and Pagano (2015) and by Franco and others
    (2019), Journal of Survey Statistics and Methodology 3:484 and 7:334. `accuracy` lies in [0, 1].
    """
    if not 0.0 <= accuracy <= 1.0 or rows < 1:
        raise InvalidInputError(
            f"`accuracy` is {accuracy} and `rows` is {rows}; give an accuracy in [0, 1] and at least one row"
        )
    z = _NORMAL_QUANTILE_975 if math.isinf(degrees_of_freedom) else upper_quantile(degrees_of_freedom)
    z2 = z**2
    centre = accuracy + z2 / (2 * rows)
    half = z * math.sqrt(accuracy * (1 - accuracy) / rows + z2 / (4 * rows**2))
    scale = 1 + z2 / rows
    # At 0 and 1, rounding must not move a bound past the share itself.
    return Interval(min(accuracy, max(0.0, (centre - half) / scale)), max(accuracy, min(1.0, (centre + half) / scale)))


@dataclass(frozen=True)
class CrossedInterval:
    """A difference of two accuracies and its two-sided interval, in points. The confidence is 95 % unless stated
    otherwise.

    `p_value`, in [0, 1], tests whether the difference is zero, by the same t statistic at `degrees_of_freedom`.
    `trainings`: number of training runs on each side. `groups`: number of test groups with a row; `effective_groups`:
    number of equal-sized groups that would carry as much information. `counts_training` is False if a side has only one
    training run, so that the variance between training runs is unknown.
    """

    difference: float
    low: float
    high: float
    p_value: float
    degrees_of_freedom: float
    trainings: tuple[int, int]
    groups: int
    effective_groups: float
    counts_training: bool

    def at_confidence(self, confidence: float) -> tuple[float, float]:
        """Return the bounds of the interval, in points, for a confidence other than 95 %."""
        scale = upper_quantile(self.degrees_of_freedom, confidence) / upper_quantile(self.degrees_of_freedom)
        low, high = (self.difference + scale * (bound - self.difference) for bound in (self.low, self.high))
        return max(-100.0, low), min(100.0, high)


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison. `accuracies`, in [0, 1], has the shape (..., trainings), with any number of leading
    axes.

    `shifts` has the shape (..., trainings, groups). An entry of `shifts` is the fall in accuracy if the group is left
    out.
    """

    accuracies: np.ndarray
    shifts: np.ndarray


@dataclass(frozen=True, eq=False)
class Spread:
    """Variance of a difference of two mean accuracies, and its degrees of freedom. The arrays `variance` and
    `degrees_of_freedom` have the leading axes of the two sides.
    """

    variance: np.ndarray
    degrees_of_freedom: np.ndarray


def side(right: np.ndarray, sizes: np.ndarray) -> Side:
    """Compute one side of a comparison from numbers of rows.

    `right`: numbers of correct rows, of shape (..., trainings, groups). `sizes`: number of rows of each group. The
    method is the delete-a-group jackknife, which allows groups of different sizes. Let group g have n_g rows, of which
    r_g are predicted correctly. If g is left out, an accuracy a on n rows falls by (r_g - a n_g) / (n - n_g).
    """
    rows = sizes.sum()
    accuracies = right.sum(axis=-1) / rows
    return Side(accuracies, (right - accuracies[..., None] * sizes) / (rows - sizes))


def crossed_spread(first: Side, second: Side, group_degrees: float) -> Spread:
    """Return the variance of the difference between the mean accuracies of `first` and `second`.

    The training runs and the test groups count as random. Let s be the number of training runs on a side, G the number
    of groups, and "mean" the mean over the training runs of a side:

        T = sum over sides of var(accuracies) / s                                     between training runs
        B = (G-1)/G sum_g (mean shift of first - mean shift of second)^2              between groups
        N = sum over sides of (G-1)/G sum_jg (shift_jg - mean shift_g)^2 / (s (s-1))  training run by group
        V = max(T + B - N, T, B)

    N is part of both T and B, so N is subtracted once. The training runs of the two sides are independent (Welch), so a
    side without variance contributes zero. The degrees of freedom are Satterthwaite's, computed with upper bounds of
    the variances between training runs. Let c(d) = d / (lower quartile of chi square with d degrees of freedom), and u
    = c(s-1) T_side for each side. In c T, the factor is c(d), where d is the degrees of freedom of T:

        d = (sum u)^2 / sum (u^2 / (s-1))
        max(c T + B - N, c T, B)^2 / ((c T)^2 / d + B^2 / group_degrees)

    If a side has only one training run, T cannot be estimated: V is B in this case, with `group_degrees` degrees of
    freedom.
    """
    groups, both_sides = first.shifts.shape[-1], (first, second)
    scale = (groups - 1) / groups
    gap = first.shifts.mean(axis=-2) - second.shifts.mean(axis=-2)
    between = scale * (gap**2).sum(axis=-1)
    own = [one.accuracies.shape[-1] - 1 for one in both_sides]
    if min(own) < 1:
        return Spread(between, np.full_like(between, group_degrees))
    apart = [one.shifts - one.shifts.mean(axis=-2, keepdims=True) for one in both_sides]
    common = scale * sum((each**2).sum(axis=(-2, -1)) / (n * (n + 1)) for each, n in zip(apart, own, strict=True))
    each = [one.accuracies.var(axis=-1, ddof=1) / one.accuracies.shape[-1] for one in both_sides]
    trainings = each[0] + each[1]
    bounds = [_raise(degrees) * variance for degrees, variance in zip(own, each, strict=True)]
    weighed = bounds[0] ** 2 / own[0] + bounds[1] ** 2 / own[1]
    degrees = _ratio((bounds[0] + bounds[1]) ** 2, weighed, min(own))
    raised = _raise(degrees) * trainings
    below = raised**2 / degrees + between**2 / group_degrees
    total = _ratio(_added(raised, between, common) ** 2, below, group_degrees)
    return Spread(_added(trainings, between, common), total)


def _raise(degrees: np.ndarray | int) -> np.ndarray:
    """Return the ratio of the upper bound of a variance to its estimate."""
    from scipy.special import gammaincinv

    return np.asarray(degrees / (2 * gammaincinv(np.asarray(degrees) / 2, LOWER_QUARTILE)))


def _added(trainings: np.ndarray, groups: np.ndarray, both: np.ndarray) -> np.ndarray:
    """Return the sum of two variances minus the common part, but at least the larger variance."""
    return np.asarray(np.maximum(trainings + groups - both, np.maximum(trainings, groups)))


def _ratio(above: np.ndarray, below: np.ndarray, without: float) -> np.ndarray:
    """Return the ratio of two numbers, or `without` if the denominator is zero because no variance was observed."""
    nothing = np.asarray(below) <= 0
    return np.where(nothing, without, above / np.where(nothing, 1.0, below))


def upper_quantile(degrees_of_freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return the quantile of Student's t for a two-sided interval with the given confidence."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, (1 + confidence) / 2))


def crossed_interval(
    first: Trainings, second: Trainings | None, groups: np.ndarray | None = None, *, confidence: float = CONFIDENCE
) -> CrossedInterval:
    """Return the mean accuracy of `first` minus the mean accuracy of `second` on the same test rows, with an interval.

    The numbers are in points. The interval has the variance of `crossed_spread` and quantiles of Student's t, and is
    clipped to [-100, 100] points. If nothing varies, as between models that agree on every row, the interval reaches
    100 x 3.7 / G points to either side for G effective groups. The number 3.7 / G bounds the share of groups on which
    models without an observed difference may differ. The bound is that of no event in G trials, two-sided 95 % (Clopper
    and Pearson 1934, Biometrika 26:404). If all rows are one group, the interval is [-100, 100].

    If `second` is None, `first` is compared with the same number of models that are always wrong. `groups`: codes, one
    per row; None if every row is its own group. Raises InvalidInputError if a side has no training run, if there is no
    row, or if lengths differ.
    """
    second = [np.zeros(len(rows)) for rows in first] if second is None else second
    lengths = _lengths(*first, *second, groups)
    if not first or not second or len(lengths) != 1 or not lengths[0]:
        raise InvalidInputError(
            f"the two sides have {len(first)} and {len(second)} training runs, tested on {lengths} rows; give each "
            "side at least one training run, and test all runs on the same rows"
        )
    codes = group_codes(groups, lengths[0])
    sizes = np.bincount(codes)
    right = [_right_by_group(trained, codes) for trained in (first, second)]
    if len(sizes) < 2:
        gap = 100 * float(right[0].mean() - right[1].mean()) / len(codes)
        return _of_one_group(gap, (len(first), len(second)))
    return _interval(side(right[0], sizes), side(right[1], sizes), len(sizes), effective_groups(sizes), confidence)


def label_weights(labels: np.ndarray) -> np.ndarray:
    """Return float64 row weights that turn a mean over rows into a mean over gold labels."""
    sizes = np.bincount(labels)
    return np.asarray(len(labels) / (np.count_nonzero(sizes) * sizes[labels]))


def label_mean_interval(
    first: Trainings, second: Trainings, labels: np.ndarray, groups: np.ndarray | None = None, *, fewest: int = 1
) -> CrossedInterval:
    """Return `crossed_interval` for accuracies that are averaged over gold labels.

    `labels`: int, one per row. With K labels and N rows, a row of a label with n rows weighs N / (K n). Labels with
    fewer than `fewest` rows are left out, unless every label has fewer rows.
    """
    often = np.bincount(labels)[labels] >= fewest
    used = often if often.any() else np.ones(len(labels), dtype=bool)
    weights = label_weights(labels[used])
    here, there = ([one[used] * weights for one in side] for side in (first, second))
    return crossed_interval(here, there, None if groups is None else groups[used])


def chosen_interval(
    trained: Trainings, chosen: np.ndarray, groups: np.ndarray | None = None, *, confidence: float = CONFIDENCE
) -> CrossedInterval:
    """Return the mean accuracy of some models on all test rows minus their mean accuracy on the `chosen` rows (bool per
    row).

    The result is in points; `groups` has one code per row, or is None if every row is its own group. If a group is left
    out, the accuracies on all rows and on the chosen rows change, because the chosen rows are among all rows. The
    interval is computed by `crossed_spread` with a constant second side, on the groups with a chosen row. Raises
    InvalidInputError if there is no training run or no chosen row, or if lengths differ.
    """
    lengths = _lengths(*trained, chosen, groups)
    if not trained or len(lengths) != 1 or not chosen.any():
        raise InvalidInputError(
            f"there are {len(trained)} training runs tested on {lengths} rows, and {int(chosen.sum())} rows are "
            "chosen; give at least one training run and one chosen row, and arrays of equal length"
        )
    codes = group_codes(groups, len(chosen))
    sizes, chosen_sizes = np.bincount(codes), np.bincount(codes, weights=chosen)
    right, chosen_right = (_right_by_group([one * rows for one in trained], codes) for rows in (1, chosen))
    present = chosen_sizes[chosen_sizes > 0]
    if chosen.all():  # nothing was chosen, so nothing can differ
        return replace(crossed_interval(trained, trained, groups), low=0.0, high=0.0)
    if len(present) < 2:
        gaps = right.sum(axis=1) / sizes.sum() - chosen_right.sum(axis=1) / chosen_sizes.sum()
        return _of_one_group(100 * float(np.mean(gaps)), (len(trained), len(trained)))
    everywhere, there = side(right, sizes), side(chosen_right, chosen_sizes)
    moving = Side(everywhere.accuracies - there.accuracies, everywhere.shifts - there.shifts)
    still = Side(np.zeros_like(moving.accuracies), np.zeros_like(moving.shifts))
    return _interval(moving, still, len(present), effective_groups(present), confidence)


def contrast_interval(
    first: Sequence[Trainings], second: Sequence[Trainings], groups: Sequence[np.ndarray | None] = (None, None)
) -> CrossedInterval:
    """Return a difference of differences in points: the gain of `first` over `second` on one test set minus the gain on
    another test set.

    `first`, `second` and `groups` each have two members, one per test set. The training runs are the same for both test
    sets. `crossed_spread` computes the interval from each training run's accuracy on the first set minus its accuracy
    on the second set. The degrees of freedom are those of the test set with fewer groups. Raises InvalidInputError if a
    side has no training run, a set has fewer than two groups, or lengths differ.
    """
    lengths = [_lengths(*one, *other, codes) for one, other, codes in zip(first, second, groups, strict=True)]
    counts = [len(trained) for trained in (*first, *second)]
    fits = counts[0] == counts[1] and counts[2] == counts[3] and all(len(each) == 1 and each[0] for each in lengths)
    if not fits or not min(counts):
        raise InvalidInputError(
            f"the sides have {counts} training runs on the two test sets, tested on {lengths} rows; give each "
            "side at least one training run, and test all runs on the same rows of both test sets"
        )
    codes = [group_codes(some, rows) for some, (rows,) in zip(groups, lengths, strict=True)]
    sizes = [np.bincount(some) for some in codes]
    if min(map(len, sizes)) < 2:
        raise InvalidInputError(
            "a test set has fewer than two groups of rows; give at least two groups in each test set"
        )
    sides = []
    for trained in (first, second):
        here, there = (side(_right_by_group(trained[i], codes[i]), sizes[i]) for i in (0, 1))
        shifts = np.concatenate([here.shifts, -there.shifts], axis=-1)
        sides.append(Side(here.accuracies - there.accuracies, shifts))
    return _interval(sides[0], sides[1], sum(map(len, sizes)), min(map(effective_groups, sizes)))


def _lengths(*arrays: np.ndarray | None) -> list[int]:
    """Return the distinct lengths of the arrays, in ascending order."""
    return sorted({len(rows) for rows in arrays if rows is not None})


def _right_by_group(trained: Trainings, codes: np.ndarray) -> np.ndarray:
    """Return the number of correct rows per training run and group, of shape (trainings, groups)."""
    return np.stack([np.bincount(codes, weights=rows) for rows in trained])


def _of_one_group(points: float, trainings: tuple[int, int]) -> CrossedInterval:
    return CrossedInterval(points, -100.0, 100.0, 1.0, 0.0, trainings, 1, 1.0, min(trainings) > 1)


def _interval(
    first: Side, second: Side, groups: int, effective: float, confidence: float = CONFIDENCE
) -> CrossedInterval:
    spread = crossed_spread(first, second, max(effective - 1, LEAST_DEGREES))
    return _from_spread(first, second, spread, groups, effective, confidence)


def _from_spread(
    first: Side, second: Side, spread: Spread, groups: int, effective: float, confidence: float
) -> CrossedInterval:
    from scipy.special import stdtr

    error, degrees = float(np.sqrt(spread.variance)), float(spread.degrees_of_freedom)
    half = upper_quantile(degrees, confidence) * error
    if error == 0:  # the sides agree in all groups, but may differ in up to this share (rule of three)
        half = -math.log((1 - confidence) / 2) / effective
    # sums in another order would make equal differences unequal
    difference = round(float(first.accuracies.mean() - second.accuracies.mean()), 12)
    p_value = 2 * float(stdtr(degrees, -abs(difference) / error)) if error > 0 else float(difference == 0)
    low, high = (100 * min(1.0, max(-1.0, bound)) for bound in (difference - half, difference + half))
    trainings = (len(first.accuracies), len(second.accuracies))
    counts = min(trainings) > 1
    return CrossedInterval(100 * difference, low, high, p_value, degrees, trainings, groups, effective, counts)


def group_codes(groups: np.ndarray | None, rows: int) -> np.ndarray:
    """Return one group code (0, 1, ...) per row; without `groups`, every row is its own group."""
    return np.arange(rows) if groups is None else np.unique(groups, return_inverse=True)[1]


def effective_groups(sizes: np.ndarray) -> float:
    """Return the number of equal-sized groups that carry as much information as groups of the given sizes (in rows).

    The rows of a group are assumed to be all alike. For groups of n_g rows, the value is (sum n_g)^2 / sum n_g^2,
    between 1 and the number of groups. Source: Kish (1965), "Survey Sampling", section 11.7.
    """
    counted = sizes.astype(np.float64)
    return float(counted.sum() ** 2 / (counted**2).sum())


def effective_rows(right: np.ndarray, groups: np.ndarray) -> tuple[float, float]:
    """Return the effective number of rows behind one accuracy, and the degrees of freedom of its variance.

    `right`: for each row, the share of training runs, in [0, 1], that predicted the row correctly. `groups`: one code
    per row. The effective number is the number of rows divided by the design effect, which is at least 1. The design
    effect is the variance of the accuracy between groups divided by the binomial variance a (1-a) / n. The variance
    between groups is G/(G-1) sum_g (r_g - a n_g)^2 / n^2, where r_g of the n_g rows of group g are correct. For an
    accuracy of 0 or 1, the design effect is the size of the largest group (Kish's 1 + (b-1) rho with rho = 1). The
    number of degrees of freedom is the effective number of groups (`effective_groups`) minus one. Source: Kish (1965),
    "Survey Sampling", sections 5.4 and 8.2.
    """
    codes = group_codes(groups, len(right))
    sizes = np.bincount(codes)
    rows, groups_present, accuracy = len(right), len(sizes), float(right.mean())
    degrees = max(effective_groups(sizes) - 1, LEAST_DEGREES)
    binomial = accuracy * (1 - accuracy) / rows
    if binomial <= 0 or groups_present < 2:
        return rows / float(sizes.max()), degrees
    residuals = np.bincount(codes, weights=right) - accuracy * sizes
    between = groups_present / (groups_present - 1) * float((residuals**2).sum()) / rows**2
    return rows / max(1.0, between / binomial), degrees


def separate_interval(
    first: Trainings,
    second: Trainings,
    groups: tuple[np.ndarray | None, np.ndarray | None] = (None, None),
    *,
    confidence: float = CONFIDENCE,
) -> CrossedInterval:
    """Return the mean accuracy of `first` minus the mean accuracy of `second`, with an interval, for sides with
    different test rows.

    The numbers are in points. The variance is the sum of the variances of the two accuracies (`crossed_spread`). The
    degrees of freedom are Satterthwaite's. `groups`: codes, one per row of each side; None if every row is its own
    group. Raises InvalidInputError if a side has no training run or fewer than two groups.
    """
    sides, spreads, worth = [], [], []
    for trained, own in zip((first, second), groups, strict=True):
        lengths = _lengths(*trained, own)
        codes = group_codes(own, lengths[0]) if lengths else np.zeros(0, dtype=np.int64)
        sizes = np.bincount(codes)
        if not trained or len(lengths) != 1 or len(sizes) < 2:
            raise InvalidInputError(
                f"one side has {len(trained)} training runs, tested on {lengths} rows in {len(sizes)} groups; give "
                "each side at least one training run and two groups of rows"
            )
        found = side(_right_by_group(trained, codes), sizes)
        still = Side(np.zeros_like(found.accuracies), np.zeros_like(found.shifts))
        sides.append(found)
        worth.append((len(sizes), effective_groups(sizes)))
        spreads.append(crossed_spread(found, still, max(worth[-1][1] - 1, LEAST_DEGREES)))
    variances = [float(one.variance) for one in spreads]
    degrees = [float(one.degrees_of_freedom) for one in spreads]
    below = sum(each**2 / free for each, free in zip(variances, degrees, strict=True))
    spread = Spread(
        np.asarray(sum(variances)), _ratio(np.asarray(sum(variances) ** 2), np.asarray(below), min(degrees))
    )
    fewest = min(worth)
    return _from_spread(sides[0], sides[1], spread, fewest[0], fewest[1], confidence)
