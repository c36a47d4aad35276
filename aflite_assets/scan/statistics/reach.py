"""Reach of a scan: the weakest cue that the tests of these rows find in about four of five data sets.

The tests are those of `testing` and `effects`. Groups of rows weigh more than rows: see `UnitSizes`.
"""

from dataclasses import dataclass

import numpy as np

from aflite_assets.scan.statistics.effects import wilson
from aflite_assets.scan.statistics.testing import size_strata

NOT_FOUND = 1.0
"""Reach of a scan that can miss even a cue that all rows of the class have, and no other row."""

_MARGIN = 0.75
"""Standard deviations by which an expected statistic must exceed its bound.

The 80 % quantile of the normal distribution is 0.84. The median over five cuts varies about 0.9 times as much as the
statistic of one half.
"""

_STRENGTHS = np.linspace(0.1, 1.0, 181)
"""Tested differences between the share of the class and the share of the rest."""


@dataclass(frozen=True)
class Bounds:
    """Conditions that a cue must meet on the tested half of the rows.

    `balanced`: minimum lower bound of the balanced accuracy. `carriers`: minimum number of rows with the cue.
    `artefact_p` and `candidate_p`: largest p-value of a single rule, before the adjustment for other rules.
    """

    balanced: float
    carriers: int
    artefact_p: float
    candidate_p: float


@dataclass(frozen=True)
class Reach:
    """Balanced accuracy of the weakest candidate (`detectable`) and of the weakest artefact that the scan finds for one
    class.
    """

    detectable: float
    detectable_artefact: float


@dataclass(frozen=True, eq=False)
class UnitSizes:
    """Sizes of the units of rows, for one class against the rest. All sizes are those of all rows, not of one half.

    `shared`: intraclass correlation of the labels in units, in [0, 1]: 1 if all rows of each unit have one class. A cue
    is assumed to be shared by the rows of a unit as much as the labels are. `inside`, `outside`: effective numbers of
    rows of the class and of the rest, which are smaller than the numbers of rows if units are few or unequal.
    `base`: share of the class. `sizes`: rows of each unit. `strata`: rows per unit, units, and share of the class, of
    each group of units that exchange their labels, shape (3, strata).
    """

    shared: float
    inside: float
    outside: float
    base: float
    sizes: np.ndarray
    strata: np.ndarray


def measure_reach(is_class: np.ndarray, units: np.ndarray, bounds: Bounds) -> Reach:
    """Return the balanced accuracy of the weakest cues that the scan finds in about 80 % of data sets such as this one.

    Args:
        is_class: bool of shape (rows,), with at least one True and one False.
        units: codes of rows that belong together, int64.
        bounds: the conditions that the scan sets.

    The cue is assumed to be as frequent in half of the rows: shares of other sizes vary less, so such cues are found
    from a weaker strength on. On simulated rows with groups of unequal sizes, cues of the returned strength were found
    in at least 80 % of the draws (`tests/scan/statistics/test_reach.py`).
    """
    spread = spread_of(is_class, units)
    shown = _has_interval(spread, bounds)
    return Reach(
        *(
            _weakest(shown & enough(spread, p_value))
            for enough, p_value in ((_candidate_shown, bounds.candidate_p), (_artefact_shown, bounds.artefact_p))
        )
    )


def _weakest(found: np.ndarray) -> float:
    return float(0.5 + _STRENGTHS[found][0] / 2) if found.any() else NOT_FOUND


def spread_of(is_class: np.ndarray, units: np.ndarray) -> UnitSizes:
    """Return the sizes of the units, and how much units share their class."""
    _, codes = np.unique(units, return_inverse=True)
    sizes = np.bincount(codes).astype(np.float64)
    own = np.bincount(codes, is_class)
    base, rows = float(is_class.mean()), len(is_class)
    within = float((own * (1 - own / sizes)).sum()) / max(rows - len(sizes), 1)
    shared = float(np.clip(1 - within / (base * (1 - base)), 0.0, 1.0)) if len(sizes) < rows else 0.0
    inside, outside = (_effective(each[each > 0], shared) for each in (own, sizes - own))
    return UnitSizes(shared, inside, outside, base, sizes, _strata_of(sizes, own))


def _effective(sizes: np.ndarray, shared: float) -> float:
    return float(sizes.sum() / (1 + shared * ((sizes**2).sum() / sizes.sum() - 1)))


def _strata_of(sizes: np.ndarray, own: np.ndarray) -> np.ndarray:
    order = np.argsort(sizes, kind="stable")
    strata = size_strata(sizes[order])
    units, rows, of_class = (np.bincount(strata, each) for each in (np.ones(len(sizes)), sizes[order], own[order]))
    filled = units > 0
    return np.stack([rows[filled] / units[filled], units[filled], of_class[filled] / rows[filled]])


def _has_interval(spread: UnitSizes, bounds: Bounds) -> np.ndarray:
    """Return for each strength whether the interval of the balanced accuracy begins above its bound."""
    above, below = 0.5 + _STRENGTHS / 2, 0.5 - _STRENGTHS / 2
    inside, outside = (np.full(len(_STRENGTHS), max(each / 2, 1.0)) for each in (spread.inside, spread.outside))
    widths = np.hypot(above - wilson(above, inside)[0], wilson(below, outside)[1] - below)
    lower = 0.5 + (_STRENGTHS - (1 + _MARGIN / 1.96) * widths) / 2
    half = spread.sizes.sum() / 2
    carriers = half * (spread.base * above + (1 - spread.base) * below)
    return np.asarray((lower >= bounds.balanced) & (carriers >= bounds.carriers))


def _artefact_shown(spread: UnitSizes, p_value: float) -> np.ndarray:
    """Return for each strength whether the permutation test shows an artefact.

    Only units of about the same size exchange labels, so that a unit without an equal shows nothing by itself.
    """
    from scipy.special import ndtri

    rows, units, base = spread.strata
    units, varies = units / 2, base * (1 - base)
    exchanged = np.maximum(1 - 1 / units, 0.0)
    covered = (rows * units * varies * (1 - spread.shared + spread.shared * exchanged)).sum()
    each = (rows * spread.shared) ** 2 * exchanged + rows * (1 - spread.shared**2)
    share = 0.5 + (spread.base - 0.5) * _STRENGTHS
    deviation = np.sqrt((units * varies * each).sum() * share * (1 - share))
    expected = np.divide(covered * _STRENGTHS, deviation, out=np.zeros_like(_STRENGTHS), where=deviation > 0)
    return np.asarray(expected >= _MARGIN - ndtri(p_value))


def _candidate_shown(spread: UnitSizes, p_value: float) -> np.ndarray:
    """Return for each strength whether the score test shows a candidate.

    The statistic is at most the square root of the effective number of units, so with few units no cue is shown.
    """
    from scipy.special import stdtrit

    base, above, below = spread.base, 0.5 + _STRENGTHS / 2, 0.5 - _STRENGTHS / 2
    mean = _STRENGTHS * base * (1 - base)
    share = base * above + (1 - base) * below
    squares = (
        base
        * (1 - base)
        * (
            (1 - base) * (above * (1 - share) ** 2 + (1 - above) * share**2)
            + base * (below * (1 - share) ** 2 + (1 - below) * share**2)
        )
    )
    noise = np.maximum(squares - mean**2, 0.0)
    rows, of_squares, units = spread.sizes.sum() / 2, (spread.sizes**2).sum() / 2, max(len(spread.sizes) / 2, 2.0)
    variance = of_squares * (mean**2 + spread.shared * noise) + rows * (1 - spread.shared) * noise
    expected = rows * mean / np.sqrt(variance * units / (units - 1))
    return np.asarray(expected >= _MARGIN - stdtrit(units - 1, p_value))
