"""How fast the scan for cues is on this machine: two scans of few train rows, small and large, give start and rate.

The speed of models is in `model_timing`, that of the filter in `filter_timing`.
"""

import time
from dataclasses import dataclass

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.processors import available_cores
from aflite_assets.scan.scan import ScanSettings, scan_examples

MOST_ROWS = {"text": 1_500, "features": 3_000, "image": 300}
"""Rows that are scanned to measure, by kind of input: seconds of work."""

_SMALL = 0.4
"""Share of these rows in the small scan."""


@dataclass(frozen=True)
class ScanTiming:
    """`start`: seconds of a scan of any rows; `row`: seconds for each row of any set that is looked at."""

    start: float
    row: float


def measure_scan(train: Examples) -> ScanTiming:
    """Scan some of the train rows twice, and return the line through both times."""
    rows = min(len(train), MOST_ROWS[train.modality])
    drawn = np.random.default_rng(0).permutation(len(train))[:rows]
    _seconds(train, drawn[: max(rows // 10, 1)])  # loads libraries
    small = max(round(_SMALL * rows), 1)
    first, second = _seconds(train, drawn[:small]), _seconds(train, drawn)
    row = max(second - first, 0.0) / max(rows - small, 1)
    return ScanTiming(max(first - row * small, 0.0), row)


def _seconds(train: Examples, positions: np.ndarray) -> float:
    examples = Examples(rows_at(train.table, np.sort(positions)), train.label_names)
    started = time.perf_counter()
    scan_examples(examples, settings=ScanSettings(threads=available_cores()), seed=0)
    return time.perf_counter() - started
