"""Measurement of a cue's strength in the other splits and in challenge sets."""

import numpy as np

from aflite_assets.scan.cues import Elsewhere, State
from aflite_assets.scan.rows import NO_CLASS, ScanRows
from aflite_assets.scan.statistics.effects import measure_effects

FEWEST_ROWS = 30
"""Minimum number of rows with the class, and of rows without the class, for a set to be measured."""


def measure_elsewhere(
    carriers: np.ndarray, label: int, balanced: float, rows: ScanRows, units: np.ndarray
) -> tuple[Elsewhere, ...]:
    """Return the balanced accuracy of one cue in every set except the scanned set.

    Args:
        carriers: bool, True for rows of any set that have the cue.
        label: the class that the cue predicts.
        balanced: balanced accuracy of the cue in the scanned rows, in [0, 1].
        rows: the rows of all sets.
        units: codes of rows that belong together.
    """
    found = []
    for number, name in enumerate(rows.set_names[1:], 1):
        own = np.flatnonzero((rows.sets == number) & (rows.labels != NO_CLASS))
        is_class = rows.labels[own] == label
        if min(is_class.sum(), (~is_class).sum()) < FEWEST_ROWS:
            found.append(Elsewhere(name, len(own), "cannot tell", None, None, None))
            continue
        found.append(_measured(name, carriers[own], is_class, balanced, units[own]))
    return tuple(found)


def _measured(name: str, carriers: np.ndarray, is_class: np.ndarray, balanced: float, units: np.ndarray) -> Elsewhere:
    from scipy.sparse import csc_array

    effects = measure_effects(csc_array(carriers[:, None].astype(np.float64)), is_class, units)
    here, low, high = float(effects.balanced[0]), float(effects.low[0]), float(effects.high[0])
    return Elsewhere(name, len(carriers), _state(low, high, balanced), here, low, high)


def _state(low: float, high: float, scanned: float) -> State:
    """Return how strong the cue is in the set, compared with the scanned rows.

    The cue is weaker or gone if its effect is significantly below half of the effect in the scanned rows.
    """
    half = 0.5 + (scanned - 0.5) / 2
    if high < 0.5:
        return "reversed"
    if low <= 0.5:
        return "gone" if high < half else "cannot tell"
    return "weaker" if high < half else "holds"
