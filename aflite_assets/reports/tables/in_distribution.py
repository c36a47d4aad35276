"""Accuracy on natural test sets before and after filtering, all representations side by side.

ICML 2020, Tables 3 and 4; ICLR 2020 submission, Tables 1 and 2.
"""

from dataclasses import dataclass
from typing import Any

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.scores.accuracy import Score
from aflite_assets.analysis.scores.annotators import HumanAgreement, human_agreement
from aflite_assets.analysis.scores.groups import Compared, natural_columns, train_rows
from aflite_assets.analysis.scores.score_table import Place, points, score_table
from aflite_assets.reports.tables.cells import NOTHING, points_cell, rows_heading, score_cell, sizes_cell
from aflite_assets.reports.tables.long_form import SCORE, TESTED, LongForm
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot
from aflite_assets.text import percent
from aflite_assets.wording import counted


@cached_per_record
def in_distribution_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """A table per natural test set; none without a representation or an evaluator trained on a train set alone.

    Random is tested on full rows, as in the paper, and on the filtered rows, where nothing but training differs from
    filtered; where test rows were left alone, all are tested on full rows. The paper's difference column is of its
    last representation; here each has one: full (trained and tested on full) minus filtered (trained on filtered,
    tested on filtered rows or, where these were left alone, on full).
    """
    if not data.plain_evaluators or not data.representations:
        return ()
    return tuple(_table(data, one) for one in data.test_sets if not one.challenge)


@dataclass(frozen=True)
class ComparedScores:
    """The scores of one test set in columns that compare train sets, the first of them full; of `top` as in `Place`."""

    data: BenchmarkData
    test_set: TestSet
    columns: tuple[Compared, ...]

    def score(self, evaluator: str, column: Compared, top: int = 1) -> Score:
        """Of the rows that the column is about."""
        tested_on = "all" if self.test_set.challenge else column.tested_on
        representation = column.representation or self.data.representations[0]
        place = Place(representation, evaluator, column.train_set, self.test_set.name, tested_on, top=top)
        return score_table(self.data)[place]

    def difference(self, evaluator: str, representation: str | None, top: int = 1) -> float | None:
        """Full minus filtered with a representation, each on its own test rows, in points."""
        full, after = (self.score(evaluator, one, top) for one in (self.columns[0], self.filtered(representation)))
        return points(full, after)

    def filtered(self, representation: str | None) -> Compared:
        """The column of a representation's filtered set."""
        return next(one for one in self.columns if (one.train_set, one.representation) == ("filtered", representation))

    def cell(self, evaluator: str, key: Compared | str, form: str, *, top: int = 1, shaded: bool = False) -> TableCell:
        """The score of a column, or the difference of a representation, which stands beside filtered in long form."""
        if isinstance(key, str):
            return points_cell(self.difference(evaluator, key, top))
        gap = self.difference(evaluator, key.representation, top) if key.train_set == "filtered" else None
        keys = {"test_set": self.test_set.name, "evaluator": evaluator, **vars(key), "top": top, "difference": gap}
        return score_cell(self.score(evaluator, key, top), shaded=shaded, form=form, keys=keys)

    def heading(self, key: Compared | str) -> Heading:
        """What is trained on and tested on; of a difference what it is of."""
        if isinstance(key, str):
            return Heading("full minus filtered", (key, "points"))
        of = () if key.representation is None else (key.representation,)
        test_rows = self.score(self.data.plain_evaluators[0], key).test_rows
        return rows_heading(key.train_set, test_rows, *of, f"on {key.tested_on} rows")


def _table(data: BenchmarkData, test_set: TestSet) -> Table:
    compared = ComparedScores(data, test_set, natural_columns(data, test_set))
    keys: list[Compared | str] = [*compared.columns, *data.representations]
    human = human_agreement(data, test_set, compared.columns)

    def cell(evaluator: str, key: Compared | str) -> TableCell:
        shaded = not isinstance(key, str) and not key.train_set.startswith("random")
        return compared.cell(evaluator, key, "in_distribution", shaded=shaded)

    def human_cell(name: str, key: Compared | str) -> TableCell:
        def gap(representation: str | None) -> float | None:
            full, after = (human[one] for one in (compared.columns[0], compared.filtered(representation)))
            return None if full is None or after is None else 100 * (full.share - after.share)

        if isinstance(key, str):
            return points_cell(gap(key))
        beside = gap(key.representation) if key.train_set == "filtered" else None
        keys = {"test_set": test_set.name, "evaluator": name, **vars(key), "difference": beside}
        return _agreement_cell(human[key], keys)

    def size_cell(_: str, key: Compared | str) -> TableCell:
        return NOTHING if isinstance(key, str) else sizes_cell(_train_rows(data, key))

    how = _FILTERED if any(one.tested_on == "filtered" for one in compared.columns) else _LEFT_ALONE
    return Table(
        "in_distribution",
        test_set.name,
        f"{test_set.name}: full, random and filtered",
        ("evaluator",),
        tuple(Column(compared.heading(key), line=True) for key in keys),
        pivot(data.plain_evaluators, lambda evaluator: (evaluator,), keys, cell)
        + pivot(["human"] if human else [], lambda name: (name,), keys, human_cell, apart=True)
        + pivot(["train rows"], lambda name: (name,), keys, size_cell, apart=True),
        f"Accuracy in per cent; mean, deviation over seeds, 95 % interval. {how}{_HUMAN if human else ''}",
    )


_FILTERED = (
    "Random on full rows shows what having fewer train rows costs. The control on filtered rows has as many train "
    "rows and, as random_matched, the class sizes of filtered, so only the choice of train rows differs. "
    "Difference: full on full minus filtered on filtered, in points, for each representation."
)
_LEFT_ALONE = (
    "The settings leave the test rows alone, so all are tested on the same rows. The control (random_matched, or "
    "random where there is no such set) has as many train rows as filtered. Difference: full minus filtered, in "
    "points, for each representation."
)
_HUMAN = (
    " Human: mean share of a row's single annotators who gave its label. Where the label is their majority, that is "
    "more than a new annotator would reach."
)


def _train_rows(data: BenchmarkData, column: Compared) -> tuple[int, ...]:
    wanted = (column.train_set, column.representation)
    return train_rows([cell for cell in data.cells if (cell.train_set, cell.representation) == wanted])


def _agreement_cell(agreement: HumanAgreement | None, keys: dict[str, Any]) -> TableCell:
    if agreement is None:
        record = keys | {"status": "no rows", "test_rows": 0}
        return TableCell("no annotators", kind="missing", form="in_distribution", record=record)
    text = f"{percent(agreement.share)} ({counted(agreement.rows, 'row')})"
    record = keys | {"status": "done", "accuracy": agreement.share, "test_rows": agreement.rows}
    return TableCell(text, value=agreement.share, form="in_distribution", record=record)


IN_DISTRIBUTION = LongForm("in_distribution", (*TESTED, *SCORE, "difference"), in_distribution_tables)
