"""One number of what was kept beside the same number of random sets: what fewer rows explain and what they do not."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class AmongDraws:
    """One number of the full set and of the kept one, beside the same number of each random set."""

    full: float
    random: tuple[float, ...]
    kept: float

    @property
    def mean(self) -> float:
        """Over the random sets."""
        return float(np.mean(self.random))

    @property
    def deviation(self) -> float:
        """Standard deviation over the random sets."""
        return float(np.std(self.random, ddof=1))

    @property
    def drop(self) -> float:
        """What fewer rows do not explain: the mean of the random sets less the kept set's number."""
        return self.mean - self.kept

    @property
    def kept_is_lowest(self) -> bool:
        """Whether every random set has more: by chance at most one time in draws + 1."""
        return self.kept < min(self.random)

    @property
    def kept_is_highest(self) -> bool:
        """Whether every random set has less: by chance at most one time in draws + 1."""
        return self.kept > max(self.random)
