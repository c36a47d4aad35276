"""Measure what each deviation from the papers does to a filter: `python -m benchmarks.deviations FEATURES LABELS
GROUPS`.

Three .npy files: features rows x width, labels and group numbers per row (int64). Parameter grid: one filter with this
project's defaults, the same with another seed, and one with each switch of `filter:` by which a file departs from
them; a target of 37 %, slices of 2 %, a tenth of the rows per classifier, 64 partitions, threshold 0.75. For the switch
on test rows a fifth of the groups are taken as test rows. Printed per switch, as a Markdown table: iterations, rows
kept, the share of rows kept by both of those kept by either (Jaccard), beside what two random sets of these sizes would
share, the bias of the first pass, and the seconds over those of the defaults. About twenty minutes on two busy cores
for 17,700 x 384.
"""

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aflite_assets.algorithm import FilterResult, FilterSettings, filter_dataset
from aflite_assets.diagnostics.evidence.removal_overlap import expected_jaccard

TARGET, SLICE, TRAIN, PARTITIONS, THRESHOLD, TEST = 0.37, 0.02, 0.1, 64, 0.75, 0.2


@dataclass(frozen=True)
class Data:
    """Features float32 rows x width; labels, groups and copies (equal for equal rows) int64 per row."""

    features: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    copies: np.ndarray

    def only(self, rows: np.ndarray) -> "Data":
        """Return the rows of a mask alone."""
        return Data(self.features[rows], self.labels[rows], self.groups[rows], self.copies[rows])


@dataclass(frozen=True)
class Filtered:
    """Which of the data's rows were kept, bool, and how."""

    kept: np.ndarray
    result: FilterResult
    seconds: float


SWITCHES: Mapping[str, Mapping[str, Any]] = {
    "another seed": {"seed": 1},
    "`groups: ignore`": {"groups": None},
    "`copies: apart`": {"copies": None},
    "`comparison: greater`": {"comparison": "greater"},
    "`early_stop: false`": {"early_stop": False},
    "`comparison: greater`, `early_stop: false`": {"comparison": "greater", "early_stop": False},
    "`classifier: both`": {"classifier": "both"},
    "`preset: paper`": {"groups": None, "copies": None},
}


def main() -> None:
    """Filter with each switch and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("features", "labels", "groups"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    features, labels, groups = (np.load(path) for path in (arguments.features, arguments.labels, arguments.groups))
    copies = np.unique(np.column_stack([features, labels]), axis=0, return_inverse=True)[1].ravel()
    data = Data(features.astype(np.float32), labels.astype(np.int64), groups.astype(np.int64), copies)
    filtered(data.only(np.arange(len(labels)) < 1_000))  # compiles, so that seconds are those of the work
    base = filtered(data)
    everything = np.ones(len(labels), dtype=bool)
    print("| switch | iterations | kept | Jaccard with the defaults (random) | bias at first | seconds |")
    print("|---|--:|--:|--:|--:|--:|")
    print(line("this project's defaults", base, base, everything))
    for name, changes in SWITCHES.items():
        print(line(name, filtered(data, **changes), base, everything), flush=True)
    train = ~np.isin(data.groups, test_groups(data.groups))
    apart = filtered(data.only(train))
    kept = np.zeros(len(labels), dtype=bool)
    kept[train] = apart.kept
    print(line("`evaluation_rows: kept`, of train rows", Filtered(kept, apart.result, apart.seconds), base, train))


def test_groups(groups: np.ndarray) -> np.ndarray:
    """Draw the groups that are taken as test rows."""
    numbers = np.unique(groups)
    return np.random.default_rng(0).choice(numbers, round(TEST * len(numbers)), replace=False)


def filtered(data: Data, *, seed: int = 0, **changes: Any) -> Filtered:
    """Filter with the defaults but for `changes`, of settings or of `groups` and `copies`."""
    rows = len(data.labels)
    given = {name: changes.pop(name, getattr(data, name)) for name in ("groups", "copies")}
    settings = FilterSettings(
        target_size=round(TARGET * rows),
        train_size=round(TRAIN * rows),
        slice_size=round(SLICE * rows),
        n_partitions=PARTITIONS,
        threshold=THRESHOLD,
        **changes,
    )
    started = time.perf_counter()
    result = filter_dataset(data.features, data.labels, settings=settings, seed=seed, **given)
    kept = np.zeros(rows, dtype=bool)
    kept[result.kept_rows] = True
    return Filtered(kept, result, time.perf_counter() - started)


def line(name: str, one: Filtered, base: Filtered, rows: np.ndarray) -> str:
    """Say in a table's row what a switch did to the kept ones of `rows`, a mask."""
    kept, before = one.kept[rows], base.kept[rows]
    both = (kept & before).sum() / (kept | before).sum()
    random = expected_jaccard(int(rows.sum()), int(before.sum()), int(kept.sum())) or 0.0
    iterations = one.result.iterations
    return (
        f"| {name} | {len(iterations)} | {kept.sum():,} | {both:.2f} ({random:.2f}) | "
        f"{iterations[0].representation_bias:.3f} | {one.seconds / base.seconds:.2f} |"
    )


if __name__ == "__main__":
    main()
