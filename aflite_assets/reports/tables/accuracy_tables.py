"""The tables of accuracies before and after filtering: per test set, side by side, for the top 5 predictions, by class,
and by the value of an attribute.
"""

from collections.abc import Callable

from aflite_assets.analysis.comparisons.attributes import ATTRIBUTE_ACCURACIES, MOST_VALUES, AttributeAccuracy
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.rows.measured import ANNOTATORS, AnnotatorAgreement
from aflite_assets.analysis.rules.leaning import FEWEST_CARRIERS
from aflite_assets.analysis.scores.score_tables import ACCURACIES, Accuracy
from aflite_assets.analysis.scores.subsets import MAX_CLASSES_APART, MAX_LABELS_APART
from aflite_assets.reports.tables import cells
from aflite_assets.reports.tables.table import Cells, Column, Heading, TableCell, TableSpec, having
from aflite_assets.text import count, percent, short, signed_points
from aflite_assets.wording import counted

_DROP_COLUMN = Column(Heading("drop", ("points",)), Heading("{test_set}"))
_HUMAN = ("human",)
_FALL = Heading("full minus filtered", ("{representation}", "points"))
_FALL_COLUMN = Column(_FALL, line=True)
_Compared = tuple[str, str | None, str]
"""A column's train set, its filtering (None for full), and the rows on which it is tested."""


def _is_natural(facts: DatasetFacts, one: Accuracy | Difference | AnnotatorAgreement) -> bool:
    """Return True if the score is on a split of the dataset, covers all classes, and is not a top-5 accuracy."""
    of_all = getattr(one, "whole", True) and getattr(one, "top", 1) == 1
    return of_all and not facts.test_set[one.test_set].challenge


def _before_and_after(facts: DatasetFacts, one: Accuracy) -> bool:
    """Return True if the score belongs in the table of accuracies before and after filtering.

    Some train sets have their own test rows, chosen in the same way as the train rows. Scores on own test rows are
    included only if a train set other than `filtered` has own test rows.
    """
    has_own = one.representation in facts.test_set[one.test_set].own_laws
    return _is_natural(facts, one) and (one.tested_on != "own" or has_own)


def _accuracy_column(facts: DatasetFacts, one: Accuracy) -> Column:
    rows = Heading("own test rows") if one.tested_on == "own" else cells.rows_heading(one.tested_on, one.test_rows)
    return Column(rows, Heading(one.test_set))


def _place(facts: DatasetFacts, one: Accuracy | Difference) -> tuple[int, int]:
    place = 2 if isinstance(one, Difference) else ("full", "filtered", "", "own", "all").index(one.tested_on)
    return list(facts.test_set).index(one.test_set), place


def _is_drop(facts: DatasetFacts, one: Difference) -> bool:
    same_models = one.comparison == "means" and one.train_set == one.against
    return same_models and (one.tested_on, one.against_tested_on) == ("full", "filtered")


def _before_and_after_cell(facts: DatasetFacts, one: Accuracy) -> TableCell:
    papers = (one.train_set, one.tested_on) in (("full", "full"), ("random", "full"), ("filtered", "filtered"))
    return cells.score(facts, one, shaded=papers and one.representation in facts.test_set[one.test_set].filtered_rows)


def _on_whole_challenge_set(facts: DatasetFacts, one: Accuracy) -> bool:
    """Return True if the score is on a whole challenge set on which the model was not trained."""
    asked = one.whole and one.top == 1 and facts.test_set[one.test_set].challenge
    return asked and one.evaluator in facts.plain_evaluators


def _challenge_column(_facts: DatasetFacts, one: Accuracy) -> Column:
    return Column(cells.rows_heading("all", one.test_rows), Heading(one.test_set))


ACCURACY = TableSpec(
    "accuracy_{representation}",
    "Accuracy in per cent, filtered with representation {representation}",
    {"evaluator": "{evaluator}", "trained on": "{train_set}"},
    (
        Cells(ACCURACIES, "train rows", cells.sizes),
        Cells(ACCURACIES, _accuracy_column, _before_and_after_cell, _before_and_after, order=_place),
        Cells(DIFFERENCES, _DROP_COLUMN, cells.points, _is_drop, order=_place),
        Cells(ACCURACIES, _challenge_column, cells.score, _on_whole_challenge_set, order=_place),
    ),
    where=cells.is_of_filtering,
    caption="Challenge sets follow the test sets. The interval is Wilson's for n test rows; for rows in groups, n is "
    "the effective number of rows. Shaded cells are the papers' comparison: full tested on full, random on "
    "full, filtered on filtered. Drop: accuracy on full minus accuracy on filtered test rows, same models, "
    "in points. Own test rows: test rows chosen in the same way as the train set of that line, so that "
    "training and test have one distribution. These test rows differ from line to line.",
)


def _compared(facts: DatasetFacts, name: str) -> list[_Compared]:
    """Return the keys of the columns of one test set's table.

    The train set `full` is first, followed by the random, control and filtered sets of each representation.

    The table does not contain scores on parts of challenge sets.
    """
    test_set = facts.test_set[name]
    columns: list[_Compared] = [("full", None, "all" if test_set.challenge else "full")]
    for one in facts.filterings:
        by = one.representation
        tested_on = "all" if test_set.challenge else "filtered" if by in test_set.filtered_rows else "full"
        random = [] if test_set.challenge else [("random", by, "full")]
        columns += dict.fromkeys([*random, (one.control, by, tested_on), ("filtered", by, tested_on)])
    return columns


def _trained_and_tested(facts: DatasetFacts, one: Accuracy | AnnotatorAgreement) -> _Compared:
    """Return the key of the column that shows a score.

    For `full`, the scores of the first filtering have a key without a representation.
    """
    is_first = one.representation in (None, *facts.representations[:1])
    return one.train_set, None if one.train_set == "full" and is_first else one.representation, one.tested_on


def _column_order(facts: DatasetFacts, one: Accuracy | AnnotatorAgreement) -> tuple[int, int]:
    return _compared(facts, one.test_set).index(_trained_and_tested(facts, one)), getattr(one, "top", 1)


def _is_compared(facts: DatasetFacts, one: Accuracy) -> bool:
    known = one.representation is not None and one.whole and one.evaluator in facts.plain_evaluators
    return known and _trained_and_tested(facts, one) in _compared(facts, one.test_set)


def _score(facts: DatasetFacts, one: Accuracy) -> TableCell:
    return cells.score(facts, one, shaded=not one.train_set.startswith("random"))


def _column(facts: DatasetFacts, one: Accuracy | AnnotatorAgreement) -> Column:
    tested_on = "full" if one.tested_on == "all" else one.tested_on
    of = () if one.train_set == "full" or one.representation is None else (one.representation,)
    return Column(cells.rows_heading(one.train_set, one.test_rows, *of, f"on {tested_on} rows"), line=True)


def _is_fall(facts: DatasetFacts, one: Difference) -> bool:
    """Return True if a record compares `full` with `filtered` on one test set.

    On challenge sets, `full` and `filtered` are both tested on all rows. On other test sets, `filtered` is tested on
    filtered rows.
    """
    pair = ("filtered", "full") if facts.test_set[one.test_set].challenge else ("full", "filtered")
    return one.comparison == "means" and one.whole and one.pair == pair and one.evaluator in facts.plain_evaluators


def _fall(facts: DatasetFacts, one: Difference) -> TableCell:
    """Return a cell with the accuracy of `full` minus the accuracy of `filtered`.

    The record may compare the two in either order.
    """
    sign = -1 if one.train_set == "filtered" else 1
    return cells.number(None if one.difference is None else sign * one.difference, signed_points)


def _fall_order(facts: DatasetFacts, one: Difference | AnnotatorAgreement) -> tuple[int, int]:
    return 10_000 + facts.representations.index(str(one.representation)), getattr(one, "top", 1)


def _agreement(facts: DatasetFacts, one: AnnotatorAgreement) -> TableCell:
    if one.share is None:
        return TableCell("no annotators", kind="missing")
    return TableCell(f"{percent(one.share)} ({counted(one.rows)})", value=one.share)


# ICML 2020, Tables 3 to 6; ICLR 2020 submission, Tables 1, 2 and 4
IN_DISTRIBUTION = TableSpec(
    "in_distribution",
    "{test_set}: full, random and filtered",
    {"evaluator": "{evaluator}"},
    (
        Cells(ACCURACIES, _column, _score, _is_compared, order=_column_order),
        Cells(DIFFERENCES, _FALL_COLUMN, _fall, _is_fall, order=_fall_order),
        Cells(ANNOTATORS, _column, _agreement, order=_column_order, apart=_HUMAN),
        Cells(ANNOTATORS, _FALL_COLUMN, cells.points, having(train_set="filtered"), order=_fall_order, apart=_HUMAN),
        Cells(ACCURACIES, _column, cells.sizes, _is_compared, merged=True, order=_column_order, apart=("train rows",)),
    ),
    of="{test_set}",
    where=_is_natural,
    when=lambda facts, records: bool(facts.plain_evaluators),
    caption="Random on full rows shows what having fewer train rows costs. The control has as many train rows and, "
    "as random_matched, the class sizes of filtered, so only the choice of train rows differs. Difference: "
    "full minus filtered, in points. Human: mean share of a row's annotators who gave its label. If the "
    "label is their majority, a new annotator would reach less.",
)


def _top_column(facts: DatasetFacts, one: Accuracy) -> Column:
    return Column(Heading(f"top-{one.top}"), _column(facts, one).heading)


TOP_5 = TableSpec(
    "top_5",
    "{test_set}: the likeliest class, and the five likeliest",
    {"evaluator": "{evaluator}"},
    (
        Cells(ACCURACIES, _top_column, cells.score, _is_compared, order=_column_order),
        Cells(DIFFERENCES, Column(Heading("top-{top}"), _FALL), _fall, _is_fall, order=_fall_order),
    ),
    of="{test_set}",
    where=lambda facts, one: facts.test_set[one.test_set].ranked,
    caption="A row counts as right in top-5 if its class is among the five that the model finds likeliest. "
    "Difference: full minus filtered, in points. If a challenge set has only some of the classes and adds up "
    "probabilities, only its own classes are ranked.",
)


BY_CLASS = TableSpec(
    "by_class_{representation}",
    "Accuracy by class and test set: {evaluator}, train sets of representation {representation}",
    {"class": lambda facts, one: short(one.label), "trained on": "{train_set}"},
    (Cells(ACCURACIES, "{test_set}", cells.short_score),),
    of="{evaluator}",
    where=lambda facts, one: (
        cells.is_of_filtering(facts, one)
        and (one.column is None and one.label is not None)
        and one.train_set in ("full", facts.filtering[one.representation].control, "filtered")
    ),
    row_order=lambda facts, one: one.label,
    row_key=lambda one: one.label,
    caption=f"Accuracies on all test rows of each gold label. Shown for splits of up to {MAX_CLASSES_APART} classes, "
    f"and challenge sets of up to {MAX_LABELS_APART}.",
)


def _of_value(facts: DatasetFacts, one: AttributeAccuracy) -> TableCell:
    if one.accuracy is None or one.interval_low is None or one.interval_high is None:
        return TableCell(one.status, kind="missing")
    ends = f"[{percent(one.interval_low)}, {percent(one.interval_high)}]"
    return TableCell(percent(one.accuracy), (ends, f"n = {count(one.test_rows)}"), one.accuracy, strong=True)


def _beside_others(facts: DatasetFacts, one: AttributeAccuracy) -> TableCell:
    if one.difference is None:
        return TableCell("too few to compare", kind="missing")
    return cells.number(one.difference, signed_points, cells.bounds(one.low, one.high), shaded=one.harder)


def _set_place(facts: DatasetFacts, one: AttributeAccuracy) -> int:
    return list(facts.test_set).index(one.test_set)


def _of_set(heading: str, unit: str) -> Callable[[DatasetFacts, AttributeAccuracy], Column]:
    return lambda facts, one: Column(Heading(heading, (unit,)), Heading(short(one.test_set)), key=one.test_set)


BY_ATTRIBUTE = TableSpec(
    "by_attribute",
    "Accuracy of models trained on all rows, by {attribute}",
    {"evaluator": "{evaluator}", "value": lambda facts, one: short(one.value)},
    (
        Cells(ATTRIBUTE_ACCURACIES, _of_set("accuracy", "%"), _of_value, order=_set_place),
        Cells(ATTRIBUTE_ACCURACIES, _of_set("against other rows", "points"), _beside_others, order=_set_place),
    ),
    of="{attribute}",
    row_key=lambda one: one.value,
    caption="Against other rows: accuracy on rows with the value minus accuracy on the other rows of the same class, "
    "with its 95 % interval. Shaded if it is significant, at least 5 points and below zero in every class: such "
    "rows are harder. If they are harder on the dataset's own test rows too, a fall on a challenge set with many "
    "of them may show harder rows instead of a shortcut. Shown are attributes with few values, and attributes "
    f"that the scan names; at most {MOST_VALUES} values, each with at least {FEWEST_CARRIERS} own test rows.",
)
