"""Exact intervals and tests of shares of questions. Groups of questions lessen their number."""

import numpy as np


def effective_count(credit: np.ndarray, units: np.ndarray) -> float:
    """Return how many independent questions tell as much about the mean credit as these do.

    `credit`: float64 of shape (questions,). `units`: int64, questions of one number belong together.
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
    """Return the interval of Clopper and Pearson (1934) of a share of `count` questions, which may be a fraction."""
    from scipy.special import betaincinv

    found, tail = share * count, (1 - level) / 2
    low = 0.0 if found <= 0 else float(betaincinv(found, count - found + 1, tail))
    high = 1.0 if found >= count else float(betaincinv(found + 1, count - found, 1 - tail))
    return low, high


def exact_p_value(share: float, count: float, chance: float) -> float:
    """Return the binomial probability of finding at least this share of `count` questions by chance."""
    from scipy.special import betainc

    found = share * count
    return 1.0 if found <= 0 else float(betainc(found, count - found + 1, chance))
