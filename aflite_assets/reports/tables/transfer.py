"""Transfer (ICML 2020, Table 2): accuracy on challenge sets after fine-tuning on their own train rows, by train set."""

from dataclasses import replace
from typing import Any, NamedTuple

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.comparisons.paired import paired_cells
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet, started_from, starts
from aflite_assets.analysis.scores.groups import cell_groups, train_rows
from aflite_assets.analysis.scores.score_table import Place, score_table
from aflite_assets.analysis.train_sets import compared_pairs
from aflite_assets.reports.tables.cells import NOTHING, difference_cell, minus, rows_heading, score_cell, sizes_cell
from aflite_assets.reports.tables.long_form import SCORE, LongForm
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot, ruled


class Tuned(NamedTuple):
    """The test rows of a challenge set, predicted by `evaluator`, which was fine-tuned from `start` on `stages`, this
    set among them; or (`training` is "zero_shot") by `start` itself."""

    start: str
    evaluator: str
    stages: tuple[str, ...]
    test_set: TestSet
    training: str

    @property
    def predicting(self) -> str:
        """The evaluator that is asked."""
        return self.evaluator if self.training == "fine_tuned" else self.start

    def keys(self, representation: str, train_set: str) -> dict[str, Any]:
        """What a score is of, in long form."""
        names = {"representation": representation, "train_set": train_set, "test_set": self.test_set.name}
        return names | {"start": self.start, "evaluator": self.evaluator, "training": self.training}

    def shown(self) -> Column:
        """Under what was done before."""
        after = f"{self.evaluator}, after {', then '.join(self.stages)}"
        group = rows_heading(self.test_set.name, len(self.test_set.row_ids), after)
        return Column(Heading(self.training.replace("_", "-")), group)


@cached_per_record
def transfer_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Per representation one for each evaluator that others were fine-tuned from, on challenge sets that there are.

    The differences are of filtered against full, its control and random, and the same of every earlier iteration.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    found = ((name, _columns(data, start)) for name in data.representations for start in starts(data.fine_tuned))
    return tuple(_table(data, name, columns) for name, columns in found if columns)


def _columns(data: BenchmarkData, start: str) -> list[Tuned]:
    """Two per evaluator fine-tuned from `start` and challenge set of its stages; missing sets have none."""
    tests = {one.name: one for one in data.test_sets if one.challenge}
    return [
        Tuned(start, name, one.sets, tests[test_set], training)
        for name, one in started_from(start, data.fine_tuned).items()
        for test_set in one.sets
        if test_set in tests
        for training in ("fine_tuned", "zero_shot")
    ]


def _table(data: BenchmarkData, representation: str, columns: list[Tuned]) -> Table:
    names = {column.predicting for column in columns}
    cells = {(name, one): each for name, one, each in cell_groups(data, representation) if name in names}
    train_sets = list(dict.fromkeys(train_set for _, train_set in cells))

    def scored(train_set: str, column: Tuned | None) -> TableCell:
        if column is None:
            trained = [each for (_, one), each in cells.items() if one == train_set]
            return sizes_cell(train_rows([cell for each in trained for cell in each]))
        found = score_table(data)[Place(representation, column.predicting, train_set, column.test_set.name)]
        shaded = column.training == "fine_tuned" and train_set in ("full", "random", "filtered")
        return score_cell(found, shaded=shaded, form="transfer", keys=column.keys(representation, train_set))

    def gained(pair: tuple[str, str], column: Tuned | None) -> TableCell:
        if column is None:
            return NOTHING
        first, second = (cells[column.predicting, one] for one in pair)
        gain = paired_cells(first, second, column.test_set)
        keys = {**column.keys(representation, pair[0]), "against": pair[1], **({} if gain is None else vars(gain))}
        return replace(difference_cell(gain), form="transfer_differences", record=keys)

    return Table(
        f"transfer_{representation}",
        f"{columns[0].start}, fine-tuned",
        f"{columns[0].start}, fine-tuned on challenge sets; train sets of representation {representation}",
        ("trained on",),
        ruled([Column(Heading("train rows")), *(column.shown() for column in columns)]),
        pivot(train_sets, lambda train_set: (train_set,), [None, *columns], scored)
        + pivot(compared_pairs(train_sets), minus, [None, *columns], gained, apart=True),
        _CAPTION,
    )


_CAPTION = (
    "Trained on the train set, then on the challenge set's own train rows, then tested on its test rows, none of "
    "which it was trained on. Zero-shot: the same rows, asked before fine-tuning. Accuracy in per cent; mean, "
    "deviation over seeds, 95 % interval. Differences in points on the same test rows; in brackets their 95 % "
    "interval, over test groups and trainings; the verdicts are in the tables of filtered against its control. "
    "Full has more train rows than filtered, the random sets as many."
)

_TUNED = ("representation", "start", "evaluator", "test_set", "train_set")

TRANSFER = LongForm("transfer", (*_TUNED, "training", *SCORE), transfer_tables)
TRANSFER_DIFFERENCES = LongForm(
    "transfer_differences",
    (*_TUNED, "against", "training", "difference", "low", "high", "counts_training"),
    transfer_tables,
)
"""Trained on `train_set` minus trained on `against`, in points."""
