"""Accuracy of every evaluator and train set before and after filtering, on natural test sets; and the iterations."""

from collections.abc import Iterator
from functools import partial

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.score_table import Place, points, score_records, score_table, trained_sizes
from aflite_assets.reports.tables.cells import points_cell, rows_heading, score_cell, sizes_cell
from aflite_assets.reports.tables.long_form import CELL, SCORE, LongForm
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot, ruled


def accuracy_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """One per representation; none without an evaluator."""
    return tuple(_accuracy_table(data, name) for name in data.representations if data.evaluators)


def _accuracy_table(data: BenchmarkData, representation: str) -> Table:
    scores, sizes = score_table(data), trained_sizes(data, representation)
    keys = list(_keys(data, representation))

    def cell(trained: tuple[str, str], key: tuple[str, str] | None) -> TableCell:
        if key is None:
            return sizes_cell(sizes[trained])
        test_set, rows = key
        place = Place(representation, *trained, test_set)
        full, filtered, own = (scores.get(place._replace(tested_on=one)) for one in ("full", "filtered", "own"))
        if rows == "drop":
            return points_cell(points(full, filtered))
        shaded = filtered is not None and (trained[1], rows) in _THE_PAPERS
        return score_cell({"full": full, "filtered": filtered, "own": own}[rows], shaded=shaded)

    def column(key: tuple[str, str]) -> Column:
        test_set, rows = key
        if rows in ("drop", "own"):
            return Column(_WITHOUT_SIZES[rows], Heading(test_set))
        first = next(place for place in scores if place.representation == representation and place[3:5] == key)
        return Column(rows_heading(rows, scores[first].test_rows), Heading(test_set))

    return Table(
        f"accuracy_{representation}",
        "",
        f"Accuracy in per cent, filtered with representation {representation}",
        ("evaluator", "trained on"),
        ruled([Column(Heading("train rows")), *map(column, keys)]),
        pivot(sizes, lambda trained: trained, [None, *keys], cell),
        _CAPTION,
    )


_WITHOUT_SIZES = {"drop": Heading("drop", ("points",)), "own": Heading("own test rows")}
_THE_PAPERS = (("full", "full"), ("random", "full"), ("filtered", "filtered"))


def _keys(data: BenchmarkData, representation: str) -> Iterator[tuple[str, str]]:
    """Test sets with the rows tested on; "own" where train sets other than filtered have test rows by their own law."""
    for test_set in data.test_sets:
        if not test_set.challenge:
            yield test_set.name, "full"
        if representation in test_set.kept:
            yield from ((test_set.name, "filtered"), (test_set.name, "drop"))
            if any(of == representation and train_set != "filtered" for of, train_set in test_set.own_kept):
                yield test_set.name, "own"


_CAPTION = (
    "Each place under a test set has the mean over seeds, its deviation over seeds, and Wilson's 95 % interval. The "
    "interval is for the number of test rows n, or, of rows in groups, for the rows that these are worth. Shaded: full "
    "tested on full, random on full, filtered on filtered, the papers' comparison. Drop: full minus filtered test "
    "rows, same models, in points. Own test rows: test rows chosen in the same way as the train set of that line, so "
    "that it is trained and tested on one distribution. Every line has other rows there."
)


ACCURACY = LongForm("accuracy", (*CELL, "test_set", "tested_on", *SCORE), partial(score_records, challenge=False))
