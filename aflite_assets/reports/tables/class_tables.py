"""The table of accuracies by class: the gold labels of the test sets that are scored by gold label."""

from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.scores.accuracies import ACCURACIES, Accuracy
from aflite_assets.analysis.scores.subsets import MAX_CLASSES_APART, MAX_LABELS_APART
from aflite_assets.reports.tables.cells import is_of_filtering, short, short_score_cell
from aflite_assets.reports.tables.table import Cells, TableSpec


def _is_compared_by_class(facts: DatasetFacts, one: Accuracy) -> bool:
    if one.representation is None or not is_of_filtering(facts, one) or one.column is not None or one.label is None:
        return False
    return one.train_set in ("full", facts.filtering[one.representation].control, "filtered")


BY_CLASS = TableSpec(
    "by_class_{representation}",
    "Accuracy by class and test set: {evaluator}, train sets of representation {representation}",
    ("class", "trained on"),
    (Cells(ACCURACIES, lambda facts, one: (short(str(one.label)), one.train_set), "{test_set}", short_score_cell),),
    of="{evaluator}",
    each=("representation", "evaluator"),
    where=_is_compared_by_class,
    row_order=lambda facts, one: one.label,
    row_key=lambda one: one.label,
    caption="Accuracy in per cent on all test rows of each gold label; mean over seeds, its deviation over them, 95 % "
    f"interval. For splits of up to {MAX_CLASSES_APART} classes, and challenge sets of up to {MAX_LABELS_APART}.",
)
