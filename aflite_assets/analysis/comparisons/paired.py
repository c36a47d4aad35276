"""Filtered against its control on the same test rows: differences in accuracy, their intervals and verdicts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.comparisons.primary import primary_comparison
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.intervals import CrossedInterval, crossed_interval, label_mean_interval
from aflite_assets.analysis.rules.verdicts import Bar, Claim, Family, Verdict, judge
from aflite_assets.analysis.scores.accuracy import finished_rows, finished_trainings
from aflite_assets.analysis.scores.groups import cell_groups
from aflite_assets.analysis.scores.subsets import Subset, compared_subsets
from aflite_assets.analysis.train_sets import compared_pairs, control_of, unweighted


@dataclass(frozen=True)
class PairedDifference:
    """Accuracy trained on `train_set` minus trained on `against`, on the same `test_rows` rows.

    `train_set` is filtered or filtered_<name>, `against` its control (`train_sets.control_of`) or other random rows of
    its size; or it is weighted, and `against` full or the control of filtered. `tested_on` is "full" or "filtered" rows
    of a natural test set, "all" of a challenge set or of its part; `column`, `category` and `label` say which, as in
    `tables.ChallengePart`, all None for the whole set. `filtered_seeds` and `random_seeds` count finished seeds of the
    two sides. `interval` is None where either has none or no row is left. `label_mean`: of rows of a challenge set the
    same as mean over gold labels, None elsewhere and of questions, which have no labels to weigh.
    """

    representation: str
    evaluator: str
    train_set: str
    against: str
    test_set: str
    tested_on: Literal["full", "filtered", "all"]
    column: str | None
    category: str | None
    label: str | None
    test_rows: int
    filtered_seeds: int
    random_seeds: int
    interval: CrossedInterval | None
    verdict: Verdict
    label_mean: CrossedInterval | None = None

    @property
    def whole(self) -> bool:
        """Whether it is about no part of a challenge set."""
        return self.column is None and self.label is None

    @property
    def is_label(self) -> bool:
        """Whether it is about the rows of one gold label, whatever their category."""
        return self.column is None and self.label is not None

    @property
    def primary(self) -> bool:
        """Whether it is the comparison that its representation is judged by."""
        return self.verdict.primary


def paired_differences(data: BenchmarkData, representation: str) -> tuple[PairedDifference, ...]:
    """Filtered against its control, and the same of earlier iterations, for every evaluator on every test set.

    Of natural test sets the full and the filtered rows; challenge sets whole and then by `compared_subsets`. Where the
    control is random_matched, random is compared too, on whole sets and without a verdict: it differs from filtered in
    the shares of classes as well. So is weighted, against full and against the control of filtered, without a verdict:
    verdicts are about removal. Verdicts are given over all representations together (`verdicts.judge`).

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
        DataError: predictions do not fit their test sets.
    """
    cell_groups(data, representation)
    return tuple(one for one in _judged(data) if one.representation == representation)


@cached_per_record
def _judged(data: BenchmarkData) -> tuple[PairedDifference, ...]:
    found = [one for representation in data.representations for one in _unjudged(data, representation)]
    verdicts = judge([claim for _, claim in found], smallest_effect=data.smallest_effect)
    return tuple(replace(one, verdict=verdict) for (one, _), verdict in zip(found, verdicts, strict=True))


def _unjudged(data: BenchmarkData, representation: str) -> Iterator[tuple[PairedDifference, Claim]]:
    cells = {(evaluator, train_set): seeds for evaluator, train_set, seeds in cell_groups(data, representation)}
    names = list(dict.fromkeys(name for _, name in cells))
    pairs = [pair for pair in compared_pairs(names) if pair[1] not in ("full", "sampled")] + _weighted_pairs(names)
    primary = primary_comparison(data).chosen
    for evaluator in data.evaluators:
        for train_set, against in pairs:
            for test_set in data.test_sets:
                yield from _compared(
                    (representation, evaluator, train_set, against),
                    finished_trainings(data, cells[evaluator, train_set], test_set),
                    finished_trainings(data, cells[evaluator, against], test_set),
                    test_set,
                    control=train_set != "weighted" and against == control_of(train_set, names),
                    primary=train_set == "filtered" and (evaluator, test_set.name) == primary,
                )


def _weighted_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """All rows with weights, against the same rows without, and against the control, which has fewer."""
    others = dict.fromkeys((unweighted(names), control_of("filtered", names)))
    return [("weighted", against) for against in others if "weighted" in names and against in names]


def _compared(
    names: tuple[str, str, str, str],
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    test_set: TestSet,
    *,
    control: bool,
    primary: bool,
) -> Iterator[tuple[PairedDifference, Claim]]:
    """Of one pair on one test set the whole differences, and with the control those of its parts."""
    for tested_on, part in _tested(test_set, names[0]):
        where = (*names, test_set.name, tested_on, part.column, part.category, part.label)
        interval = interval_on(first, second, part.mask, test_set.groups)
        rows = int(part.mask.sum())
        by_label = None if interval is None else label_mean(first, second, test_set, part.mask)
        one = PairedDifference(*where, rows, len(first), len(second), interval, _UNJUDGED, by_label)
        if not (one.whole or control):
            continue
        family: Family = "whole sets" if one.whole else "parts of sets"
        if primary and control and one.whole and tested_on != "filtered":
            family = "primary"
        bar = _barred(test_set, tested_on, control=control, weighted=one.train_set == "weighted")
        yield one, Claim(interval, rows, family, bar, by_label)


_UNJUDGED = Verdict(None, "not judged")


def _barred(test_set: TestSet, tested_on: str, *, control: bool, weighted: bool) -> Bar | None:
    """Filtered rows were chosen by what chose the train rows, so a gain on them says that the two are alike."""
    if weighted:
        return "about weights"
    if not control:
        return "not the control"
    if test_set.pooled:
        return "took part in the filter"
    return "chosen by the filter" if tested_on == "filtered" else None


def _tested(test_set: TestSet, representation: str) -> list[tuple[Literal["full", "filtered", "all"], Subset]]:
    """Which rows are compared, the whole set first."""
    everything = Subset(None, None, None, np.ones(len(test_set.row_ids), dtype=bool))
    if test_set.challenge:
        return [("all", part) for part in (everything, *compared_subsets(test_set))]
    if representation not in test_set.kept:
        return [("full", everything)]
    return [("full", everything), ("filtered", Subset(None, None, None, test_set.kept[representation]))]


def paired_cells(cells: Sequence[Cell], others: Sequence[Cell], test_set: TestSet) -> CrossedInterval | None:
    """Accuracy of `cells` minus that of `others` on all rows of a test set, each a mean over seeds; None without both.

    Raises:
        DataError: predictions do not fit the test set.
    """
    rows = np.ones(len(test_set.row_ids), dtype=bool)
    return interval_on(finished_rows(cells, test_set), finished_rows(others, test_set), rows, test_set.groups)


def interval_on(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], rows: np.ndarray, groups: np.ndarray | None
) -> CrossedInterval | None:
    """Compare two sides' trainings on some rows (bool per row) of a test set; None without both or any row."""
    if not first or not second or not rows.any():
        return None
    chosen = [[one[rows] for one in trained] for trained in (first, second)]
    return crossed_interval(chosen[0], chosen[1], None if groups is None else groups[rows])


def label_mean(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], test_set: TestSet, rows: np.ndarray | None = None
) -> CrossedInterval | None:
    """The difference of two sides' trainings on some rows of a challenge set, mean over gold labels.

    `rows`: bool per row, None for all. None of natural sets, which are drawn as the train rows are, and of questions.
    """
    if not test_set.challenge or test_set.unit == "question":
        return None
    chosen = np.ones(len(test_set.row_ids), dtype=bool) if rows is None else rows
    trained = [[one[chosen] for one in side] for side in (first, second)]
    groups = None if test_set.groups is None else test_set.groups[chosen]
    return label_mean_interval(trained[0], trained[1], test_set.labels[chosen], groups)
