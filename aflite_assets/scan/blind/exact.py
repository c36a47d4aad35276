"""Exact confidence intervals and tests for shares of questions.

Questions of one group are not independent, so they count as fewer questions.
"""

import numpy as np


def effective_count(credit: np.ndarray, units: np.ndarray) -> float:
    """Return the effective sample size, which is the number of independent questions that would give the same variance
    of the mean.

    `credit`: float64 of shape (questions,). `units`: int64, the unit of each question. Questions of one unit are not
    independent.
    """
    count = len(credit)
    _, codes = np.unique(units, return_inverse=True)
    spread = credit - credit.mean()
    within = float((spread**2).sum())
    if within == 0:
        return float(len(np.unique(codes)))
    between = float((np.bincount(codes, spread) ** 2).sum())
    return count / max(between / within, 1.0)


def exact_interval(share: float, count: float, *, level: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval (1934) for a share of `count` questions; `count` may be fractional."""
    from scipy.special import betaincinv

    found, tail = share * count, (1 - level) / 2
    low = 0.0 if found <= 0 else float(betaincinv(found, count - found + 1, tail))
    high = 1.0 if found >= count else float(betaincinv(found + 1, count - found, 1 - tail))
    return low, high


def exact_p_value(share: float, count: float, chance: float) -> float:
    """Return the p-value of a one-sided binomial test whether a share of `count` questions is above chance."""
    from scipy.special import betainc

    found = share * count
    return 1.0 if found <= 0 else float(betainc(found, count - found + 1, chance))
