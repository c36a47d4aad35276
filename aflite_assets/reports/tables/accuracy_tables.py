"""The tables of accuracies before and after filtering: each test set, all of them side by side, and top-5."""

from collections.abc import Sequence
from typing import NamedTuple

from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.facts import DatasetFacts, TestSetFacts
from aflite_assets.analysis.rows.measured import ANNOTATORS, AnnotatorAgreement
from aflite_assets.analysis.scores.accuracies import ACCURACIES, Accuracy
from aflite_assets.reports.tables.cells import (
    is_of_filtering,
    points_cell,
    rows_heading,
    score_cell,
    sizes_cell,
    sizes_column,
    trained,
)
from aflite_assets.reports.tables.spec import Cells, TableSpec
from aflite_assets.reports.tables.table import Column, Heading, TableCell
from aflite_assets.text import percent
from aflite_assets.wording import counted


def _is_natural(facts: DatasetFacts, one: Accuracy | Difference) -> bool:
    return is_of_filtering(facts, one) and not facts.test_set[one.test_set].challenge


# Before and after filtering

_WITHOUT_SIZES = {"drop": Heading("drop", ("points",)), "own": Heading("own test rows")}
_THE_PAPERS = (("full", "full"), ("random", "full"), ("filtered", "filtered"))
_TESTED = ("full", "filtered", "drop", "own")


def _before_and_after(facts: DatasetFacts, one: Accuracy) -> bool:
    if not _is_natural(facts, one):
        return False
    return one.tested_on != "own" or _has_own(facts, one)


def _has_own(facts: DatasetFacts, one: Accuracy) -> bool:
    """Whether other train sets than filtered have test rows by their own law."""
    return one.representation in facts.test_set[one.test_set].own_laws


def _accuracy_column(facts: DatasetFacts, one: Accuracy) -> Column:
    heading = _WITHOUT_SIZES.get(one.tested_on) or rows_heading(one.tested_on, one.test_rows)
    return Column(heading, Heading(one.test_set))


def _place(facts: DatasetFacts, test_set: str, tested_on: str) -> tuple[int, int]:
    return list(facts.test_set).index(test_set), _TESTED.index(tested_on)


def _is_drop(facts: DatasetFacts, one: Difference) -> bool:
    return (
        one.comparison == "means"
        and one.top == 1
        and one.train_set == one.against
        and one.tested_on == "full"
        and one.against_tested_on == "filtered"
    )


def _shaded(facts: DatasetFacts, one: Accuracy) -> bool:
    filtered = one.representation in facts.test_set[one.test_set].filtered_rows
    return filtered and (one.train_set, one.tested_on) in _THE_PAPERS


ACCURACY = TableSpec(
    "accuracy_{representation}",
    "",
    "Accuracy in per cent, filtered with representation {representation}",
    ("evaluator", "trained on"),
    (
        sizes_column(trained, is_of_filtering),
        Cells(
            ACCURACIES,
            rows=trained,
            where=_before_and_after,
            column=_accuracy_column,
            value=lambda facts, one: score_cell(one, shaded=_shaded(facts, one)),
            order=lambda facts, one: _place(facts, one.test_set, one.tested_on),
        ),
        Cells(
            DIFFERENCES,
            rows=trained,
            where=_is_drop,
            column=lambda facts, one: Column(_WITHOUT_SIZES["drop"], Heading(one.test_set)),
            value=lambda facts, one: points_cell(one.difference),
            order=lambda facts, one: _place(facts, one.test_set, "drop"),
        ),
    ),
    each=("representation",),
    caption="Each place under a test set has the mean over seeds, its deviation over seeds, and Wilson's 95 % "
    "interval. The interval is for the number of test rows n, or, of rows in groups, for the rows that these are "
    "worth. Shaded: full tested on full, random on full, filtered on filtered, the papers' comparison. Drop: full "
    "minus filtered test rows, same models, in points. Own test rows: test rows chosen in the same way as the train "
    "set of that line, so that it is trained and tested on one distribution. Every line has other rows there.",
)


# Full, random and filtered side by side (ICML 2020, Tables 3 to 6; ICLR 2020 submission, Tables 1, 2 and 4)


class _Compared(NamedTuple):
    """What a column is trained on, by which filtering (None of full), and on which rows it is tested."""

    train_set: str
    representation: str | None
    tested_on: str


def _compared(facts: DatasetFacts, test_set: TestSetFacts) -> list[_Compared]:
    """Full, then per representation random on full rows, its control and filtered, where they were, on filtered rows.

    Of a challenge set full, the controls and filtered, all on the whole set.
    """
    columns = [_Compared("full", None, "all" if test_set.challenge else "full")]
    for one in facts.filterings:
        name = one.representation
        tested_on = "all" if test_set.challenge else "filtered" if name in test_set.filtered_rows else "full"
        random = () if test_set.challenge else (_Compared("random", name, "full"),)
        columns += dict.fromkeys((*random, *(_Compared(each, name, tested_on) for each in (one.control, "filtered"))))
    return columns


def _of(facts: DatasetFacts, one: Accuracy | AnnotatorAgreement) -> _Compared | None:
    """The column of a score; None of one that has none. Full stands there once, as scored with the first filtering."""
    if one.train_set == "full":
        first = facts.representations[:1]
        return _Compared("full", None, one.tested_on) if one.representation in (None, *first) else None
    return _Compared(one.train_set, one.representation, one.tested_on)


def _stands(facts: DatasetFacts, one: Accuracy) -> bool:
    if one.representation is None or not one.whole or one.evaluator not in facts.plain_evaluators:
        return False
    return _of(facts, one) in _compared(facts, facts.test_set[one.test_set])


def _column_order(facts: DatasetFacts, one: Accuracy | AnnotatorAgreement) -> tuple[int, int]:
    compared = _of(facts, one)
    assert compared is not None
    return _compared(facts, facts.test_set[one.test_set]).index(compared), getattr(one, "top", 1)


def _heading(one: Accuracy | AnnotatorAgreement, test_rows: int) -> Heading:
    tested_on = "full" if one.tested_on == "all" else one.tested_on
    of = () if one.train_set == "full" or one.representation is None else (one.representation,)
    return rows_heading(one.train_set, test_rows, *of, f"on {tested_on} rows")


def _side_by_side(facts: DatasetFacts, one: Accuracy) -> Column:
    return Column(_heading(one, one.test_rows), line=True)


def _is_fall(facts: DatasetFacts, one: Difference) -> bool:
    """Whether it is full on full rows against filtered on the rows that it is compared on, or the other way round."""
    if one.comparison != "means" or not one.whole or one.evaluator not in facts.plain_evaluators:
        return False
    if facts.test_set[one.test_set].challenge:
        return one.pair == ("filtered", "full")
    return one.pair == ("full", "filtered")


def _fall(one: Difference) -> TableCell:
    """Full minus filtered, whichever stands first."""
    minus_one = one.train_set == "filtered" and one.difference is not None
    return points_cell(-(one.difference or 0.0) if minus_one else one.difference)


def _fall_order(facts: DatasetFacts, one: Difference | AnnotatorAgreement) -> tuple[int, int]:
    assert one.representation is not None
    return 10_000 + facts.representations.index(one.representation), getattr(one, "top", 1)


def _fall_heading(one: Difference | AnnotatorAgreement) -> Heading:
    return Heading("full minus filtered", (str(one.representation), "points"))


def _agreement_column(facts: DatasetFacts, one: AnnotatorAgreement) -> Column:
    return Column(_heading(one, one.test_rows), line=True)


def _agreement(facts: DatasetFacts, one: AnnotatorAgreement) -> TableCell:
    if one.share is None:
        return TableCell("no annotators", kind="missing")
    return TableCell(f"{percent(one.share)} ({counted(one.rows, 'row')})", value=one.share)


def _in_distribution_caption(facts: DatasetFacts, records: Sequence[object]) -> str:
    filtered = any(isinstance(one, Accuracy) and one.tested_on == "filtered" for one in records)
    how = (
        "Random on full rows shows what having fewer train rows costs. The control on filtered rows has as many train "
        "rows and, as random_matched, the class sizes of filtered, so only the choice of train rows differs. "
        "Difference: full on full minus filtered on filtered, in points, for each representation."
        if filtered
        else "The settings leave the test rows alone, so all are tested on the same rows. The control (random_matched, "
        "or random where there is no such set) has as many train rows as filtered. Difference: full minus filtered, in "
        "points, for each representation."
    )
    human = (
        " Human: mean share of a row's single annotators who gave its label. Where the label is their majority, that "
        "is more than a new annotator would reach."
        if any(isinstance(one, AnnotatorAgreement) for one in records)
        else ""
    )
    return f"Accuracy in per cent; mean, deviation over seeds, 95 % interval. {how}{human}"


IN_DISTRIBUTION = TableSpec(
    "in_distribution",
    "{test_set}",
    "{test_set}: full, random and filtered",
    ("evaluator",),
    (
        Cells(
            ACCURACIES,
            rows=lambda facts, one: (one.evaluator,),
            where=lambda facts, one: _is_natural(facts, one) and _stands(facts, one),
            column=_side_by_side,
            value=lambda facts, one: score_cell(one, shaded=not one.train_set.startswith("random")),
            order=_column_order,
        ),
        Cells(
            DIFFERENCES,
            rows=lambda facts, one: (one.evaluator,),
            where=lambda facts, one: _is_natural(facts, one) and _is_fall(facts, one),
            column=lambda facts, one: Column(_fall_heading(one), line=True),
            value=lambda facts, one: _fall(one),
            order=_fall_order,
        ),
        Cells(
            ANNOTATORS,
            rows=lambda facts, one: ("human",),
            where=lambda facts, one: bool(facts.plain_evaluators),
            column=_agreement_column,
            value=_agreement,
            order=_column_order,
            apart=True,
        ),
        Cells(
            ANNOTATORS,
            rows=lambda facts, one: ("human",),
            where=lambda facts, one: bool(facts.plain_evaluators) and one.train_set == "filtered",
            column=lambda facts, one: Column(_fall_heading(one), line=True),
            value=lambda facts, one: points_cell(one.difference),
            order=_fall_order,
            apart=True,
        ),
        Cells(
            ACCURACIES,
            rows=lambda facts, one: ("train rows",),
            where=lambda facts, one: _is_natural(facts, one) and _stands(facts, one),
            column=_side_by_side,
            value=lambda facts, one: sizes_cell([one]),
            merged=sizes_cell,
            order=_column_order,
            apart=True,
        ),
    ),
    each=("test_set",),
    caption=_in_distribution_caption,
    ruled=False,
)

TOP_5 = TableSpec(
    "top_5",
    "{test_set}",
    "{test_set}: the likeliest class, and the five likeliest",
    ("evaluator",),
    (
        Cells(
            ACCURACIES,
            rows=lambda facts, one: (one.evaluator,),
            where=lambda facts, one: facts.test_set[one.test_set].ranked and _stands(facts, one),
            column=lambda facts, one: Column(Heading(f"top-{one.top}"), _heading(one, one.test_rows)),
            value=lambda facts, one: score_cell(one),
            order=_column_order,
        ),
        Cells(
            DIFFERENCES,
            rows=lambda facts, one: (one.evaluator,),
            where=lambda facts, one: facts.test_set[one.test_set].ranked and _is_fall(facts, one),
            column=lambda facts, one: Column(Heading(f"top-{one.top}"), _fall_heading(one)),
            value=lambda facts, one: _fall(one),
            order=_fall_order,
        ),
    ),
    each=("test_set",),
    caption=lambda facts, records: (
        "Accuracy in per cent; a row counts as right in top-5 when its class is among the five that the model finds "
        "likeliest. Difference: full minus filtered, in points, for each representation."
        + (
            " Where the set has some of the dataset's classes and adds probabilities up, only its own classes are "
            "ranked."
            if facts.test_set[records[0].test_set].challenge
            else ""
        )
    ),
)
