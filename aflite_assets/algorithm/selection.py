"""Which scored rows an iteration removes: threshold, slice, ties and Gumbel noise. Scoring is in tally.py."""

from dataclasses import dataclass

import numpy as np

from aflite_assets.algorithm.partitions import fill_in_order
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.algorithm.streams import Purpose, generator
from aflite_assets.algorithm.tally import Tally, shares


@dataclass(frozen=True)
class Slice:
    """What one iteration removes.

    `rows`: ascending row numbers. `passing`: rows whose score is at or over the threshold. `cutoff`: lowest
    removed score, None when nothing is removed. `tied_at_cutoff`: rows that have exactly that score.
    """

    rows: np.ndarray
    passing: int
    cutoff: float | None
    tied_at_cutoff: int


@dataclass(frozen=True)
class Candidates:
    """Rows that are removed together share a unit and its score.

    `rows`: ascending row numbers; `units`: the unit of each, from 0; `sizes`: rows per unit; `scores`: float64
    share of right predictions per unit, NaN for a unit that was never held out.
    """

    rows: np.ndarray
    units: np.ndarray
    sizes: np.ndarray
    scores: np.ndarray


def candidates(rows: np.ndarray, groups: np.ndarray | None, tally: Tally) -> Candidates:
    """Units of single rows, or of the rows in `rows` that share a group (`groups` is as long as `rows`).

    A group's score is its right predictions over all its predictions. As the trained-on rows of a group are held
    out together, that is the mean of its rows' predictability; taken from the counts it is exact.
    """
    units = np.arange(len(rows)) if groups is None else np.unique(groups, return_inverse=True)[1]
    totals = np.bincount(units, tally.predictions[rows])
    return Candidates(rows, units, np.bincount(units), shares(np.bincount(units, tally.correct[rows]), totals))


def choose_slice(among: Candidates, *, settings: FilterSettings, allowed: int, seed: int, iteration: int) -> Slice:
    """The top units at or over the threshold, together at most `allowed` rows.

    "greedy" orders by score, "gumbel" by log score plus Gumbel noise; equal ones are put in an order drawn from
    (seed, iteration). A unit too large for what is left of the slice is passed over.
    """
    passing = np.flatnonzero(among.scores >= settings.threshold)
    ties = generator(seed, Purpose.TIES, iteration).permutation(len(among.scores))
    keys = among.scores
    if settings.selection == "gumbel":
        with np.errstate(divide="ignore"):  # a score of 0 has weight 0: it comes after all others
            keys = np.log(keys) + generator(seed, Purpose.GUMBEL, iteration).gumbel(size=len(keys))
    ordered = passing[np.lexsort((ties[passing], -keys[passing]))]
    taken = ordered[fill_in_order(among.sizes[ordered], allowed)]
    n_passing = int(among.sizes[passing].sum())
    if not len(taken):
        return Slice(among.rows[:0], n_passing, None, 0)
    cutoff = float(among.scores[taken].min())
    tied = int(among.sizes[among.scores == cutoff].sum())
    return Slice(_rows_of(among, taken), n_passing, cutoff, tied)


def rows_reaching(among: Candidates, cutoff: float | None) -> np.ndarray:
    """Rows of the units whose score is at or over the cut-off; none without a cut-off."""
    if cutoff is None:
        return among.rows[:0]
    return _rows_of(among, np.flatnonzero(among.scores >= cutoff))


def _rows_of(among: Candidates, units: np.ndarray) -> np.ndarray:
    return among.rows[np.isin(among.units, units)]
