"""Second phases by overlap of the texts, and by the threshold of a class (EACL 2021, Tables 10 and 11, Figure 6)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from aflite_assets.analysis.inputs.forgettables import Forgettables
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.scores.accuracy import correct_rows, score
from aflite_assets.reports.tables.cells import rows_heading, score_cell
from aflite_assets.reports.tables.long_form import SCORE, LongForm
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot, ruled

_Part = tuple[str, str, np.ndarray]
"""Which class, which overlap, and the rows, bool."""


def overlap_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Per evaluator that second phases start from and natural test set: accuracy by class and overlap of the texts.

    High: more than the mean of the test set; low: the others. None without `minorities` in the dataset's file.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    forgettables = data.forgettables
    if forgettables is None or forgettables.positive is None:
        return ()
    tested = [one for one in data.test_sets if one.name in forgettables.overlap]
    return tuple(_table(data, forgettables, start, one) for start in forgettables.starts for one in tested)


def _table(data: BenchmarkData, forgettables: Forgettables, start: str, test_set: TestSet) -> Table:
    assert forgettables.positive is not None
    positive = data.label_names[forgettables.positive]
    parts = list(_parts(forgettables.overlap[test_set.name], test_set.labels == forgettables.positive, positive))

    def cell(evaluator: str, part: _Part) -> TableCell:
        right = [correct_rows(each, test_set) for each in forgettables.cells_of(evaluator)]
        keys = {"start": start, "evaluator": evaluator, "test_set": test_set.name, "class": part[0], "overlap": part[1]}
        return score_cell(score(right, part[2], test_set.groups), short=True, form="by_overlap", keys=keys)

    return Table(
        "by_overlap",
        f"{start}, {test_set.name}",
        f"{start} on {test_set.name}, by overlap of the texts",
        ("evaluator",),
        ruled([Column(rows_heading(part[1], int(part[2].sum())), Heading(part[0])) for part in parts]),
        pivot([start, *forgettables.phases_from(start)], lambda name: (name,), parts, cell),
        "Accuracy in per cent; mean over seeds, its deviation, 95 % interval. High: the texts share more words than "
        "the mean of the test set (Jaccard); low: the other rows.",
    )


def _parts(overlap: np.ndarray, is_positive: np.ndarray, positive: str) -> Iterator[_Part]:
    high = overlap > overlap.mean() if len(overlap) else np.zeros(0, dtype=bool)
    for name, inside in ((positive, is_positive), ("others", ~is_positive)):
        yield name, "all", inside
        yield name, "high", inside & high
        yield name, "low", inside & ~high


def _threshold_records(data: BenchmarkData) -> Iterator[dict[str, Any]]:
    for curve in () if data.forgettables is None else data.forgettables.thresholds:
        keys = {"evaluator": curve.evaluator, "test_set": curve.test_set, "class": curve.positive, "seeds": curve.seeds}
        for threshold, accuracy in zip(curve.thresholds.tolist(), curve.accuracy.tolist(), strict=True):
            yield {**keys, "threshold": threshold, "accuracy": accuracy, "chosen": threshold == curve.best}


BY_OVERLAP = LongForm("by_overlap", ("start", "evaluator", "test_set", "class", "overlap", *SCORE), overlap_tables)
THRESHOLDS = LongForm(
    "thresholds", ("evaluator", "test_set", "class", "threshold", "accuracy", "seeds", "chosen"), _threshold_records
)
"""`chosen`: the threshold of highest accuracy."""
