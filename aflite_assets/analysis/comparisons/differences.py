"""The tidy table of all differences between trainings; what is compared, and how, stands in the other files here."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from aflite_assets.analysis.comparisons.paired import paired_cells, paired_differences
from aflite_assets.analysis.comparisons.rankings import ranking_differences
from aflite_assets.analysis.comparisons.samples import sample_costs
from aflite_assets.analysis.comparisons.second_phase import phase_differences
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.intervals import CrossedInterval
from aflite_assets.analysis.rules.verdicts import Family, Verdict
from aflite_assets.analysis.scores.accuracy import TOP
from aflite_assets.analysis.scores.groups import cell_groups, natural_columns
from aflite_assets.analysis.scores.score_table import Place, TestedOn, points, score_table
from aflite_assets.analysis.scores.subsets import zero_shot_subsets
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.analysis.train_sets import compared_pairs

Comparison = Literal["control", "transfer", "second phase", "ranking", "sample", "means"]


@dataclass(frozen=True)
class Difference:
    """Accuracy of one side minus that of the other, in points, with its 95 % interval and its verdict.

    `comparison`: "control" has filtered, or weighted, against its control and other rows of its size; "transfer" the
    same of evaluators fine-tuned on challenge sets; "second phase" evaluators that went on against what they started
    from or went on with; "ranking" filtered sets of two rankings; "sample" full against its sample; "means" the plain
    difference of two `accuracies`, without an interval. The first side is `evaluator` trained on `train_set` of
    `representation`, asked about the `tested_on` rows of a test set or the part that `column`, `category` and `label`
    name; the other is `against_evaluator` (None: the same) trained on `against` of `against_representation` (None: the
    same), asked about `against_tested_on` (None: the same rows). `top`: as in `Place`. `seeds`, `seeds_against`:
    finished trainings. Without a result on either side all numbers are None. `groups` to `counts_training`: as in
    `CrossedInterval`; `side` to `adjusted_p`: as in `Verdict`. `label_mean` with its bounds: of a challenge set the
    same difference as mean over gold labels.
    """

    comparison: Comparison
    representation: str | None
    evaluator: str
    train_set: str
    tested_on: TestedOn
    against_representation: str | None
    against_evaluator: str | None
    against: str
    against_tested_on: TestedOn | None
    test_set: str
    column: str | None = None
    category: str | None = None
    label: str | None = None
    top: int = 1
    test_rows: int | None = None
    seeds: int | None = None
    seeds_against: int | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    degrees_of_freedom: float | None = None
    groups: int | None = None
    effective_groups: float | None = None
    counts_training: bool | None = None
    side: Literal["above", "below", "open"] | None = None
    why: str | None = None
    family: Family | None = None
    adjusted_p: float | None = None
    label_mean: float | None = None
    label_mean_low: float | None = None
    label_mean_high: float | None = None

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
        return self.family == "primary"

    @property
    def found(self) -> bool:
        """Whether a difference was found."""
        return self.side in ("above", "below")

    @property
    def pair(self) -> tuple[str, str]:
        """The two train sets."""
        return self.train_set, self.against


DIFFERENCES = TidyTable("differences", Difference)


def differences(data: BenchmarkData) -> Iterator[Difference]:
    """Every difference that a report states.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    return chain(_control(data), _transfer(data), _second_phase(data), _ranking(data), _sample(data), _means(data))


def _numbers(
    interval: CrossedInterval | None, verdict: Verdict | None = None, label_mean: CrossedInterval | None = None
) -> dict[str, Any]:
    """The columns of an interval, a verdict and a mean over gold labels."""
    names = ("difference", "low", "high", "p_value", "degrees_of_freedom", "groups", "effective_groups")
    found = {} if interval is None else {name: getattr(interval, name) for name in (*names, "counts_training")}
    found |= {} if verdict is None else vars(verdict)
    if label_mean is None:
        return found
    bounds = {"label_mean_low": label_mean.low, "label_mean_high": label_mean.high}
    return found | {"label_mean": label_mean.difference} | bounds


def _control(data: BenchmarkData) -> Iterator[Difference]:
    for name in data.representations:
        for one in paired_differences(data, name):
            yield Difference(
                comparison="control",
                representation=name,
                evaluator=one.evaluator,
                train_set=one.train_set,
                tested_on=one.tested_on,
                against_representation=None,
                against_evaluator=None,
                against=one.against,
                against_tested_on=None,
                test_set=one.test_set,
                column=one.column,
                category=one.category,
                label=one.label,
                test_rows=one.test_rows,
                seeds=one.filtered_seeds,
                seeds_against=one.random_seeds,
                **_numbers(one.interval, one.verdict, one.label_mean),
            )


def _transfer(data: BenchmarkData) -> Iterator[Difference]:
    """Of evaluators fine-tuned on challenge sets, and of what they start from, on the sets of their stages."""
    tests = {one.name: one for one in data.test_sets if one.challenge}
    asked = dict.fromkeys(
        (evaluator, test_set)
        for name, one in data.fine_tuned.items()
        for test_set in one.sets
        if test_set in tests
        for evaluator in (name, one.start)
    )
    for representation in data.representations if asked else ():
        cells = {(name, train_set): each for name, train_set, each in cell_groups(data, representation)}
        for evaluator, test_set in asked:
            for first, second in compared_pairs([train_set for name, train_set in cells if name == evaluator]):
                interval = paired_cells(cells[evaluator, first], cells[evaluator, second], tests[test_set])
                yield Difference(
                    comparison="transfer",
                    representation=representation,
                    evaluator=evaluator,
                    train_set=first,
                    tested_on="all",
                    against_representation=None,
                    against_evaluator=None,
                    against=second,
                    against_tested_on=None,
                    test_set=test_set,
                    test_rows=len(tests[test_set].row_ids),
                    **_numbers(interval),
                )


def _second_phase(data: BenchmarkData) -> Iterator[Difference]:
    challenge = {one.name for one in data.test_sets if one.challenge}
    for one in phase_differences(data):
        yield Difference(
            comparison="second phase",
            representation=None,
            evaluator=one.evaluator,
            train_set="full",
            tested_on="all" if one.test_set in challenge else "full",
            against_representation=None,
            against_evaluator=one.against,
            against="full",
            against_tested_on=None,
            test_set=one.test_set,
            column=one.part.column,
            category=one.part.category,
            label=one.part.label,
            test_rows=one.test_rows,
            **_numbers(one.interval, one.verdict),
        )


def _ranking(data: BenchmarkData) -> Iterator[Difference]:
    for one in ranking_differences(data):
        yield Difference(
            comparison="ranking",
            representation=one.place.representation,
            evaluator=one.place.evaluator,
            train_set=one.place.train_set,
            tested_on=one.place.tested_on,
            against_representation=one.pair.against,
            against_evaluator=None,
            against=one.place.train_set,
            against_tested_on=None,
            test_set=one.place.test_set,
            column=one.place.column,
            category=one.place.category,
            label=one.place.label,
            test_rows=one.test_rows,
            seeds=one.seeds[0],
            seeds_against=one.seeds[1],
            **_numbers(one.interval, one.verdict),
        )


def _sample(data: BenchmarkData) -> Iterator[Difference]:
    challenge = {one.name for one in data.test_sets if one.challenge}
    for one in sample_costs(data):
        yield Difference(
            comparison="sample",
            representation=data.representations[0],
            evaluator=one.evaluator,
            train_set="full",
            tested_on="all" if one.test_set in challenge else "full",
            against_representation=None,
            against_evaluator=None,
            against="sampled",
            against_tested_on=None,
            test_set=one.test_set,
            **_numbers(one.interval, one.verdict),
        )


def _means(data: BenchmarkData) -> Iterator[Difference]:
    """Full on full rows minus filtered on filtered rows; all minus filtered rows; and pairs on challenge sets."""
    scores = score_table(data)
    for place in scores:
        if place.tested_on == "filtered" and place.top == 1:
            yield from _mean(scores, place._replace(tested_on="full"), place)
    for test_set in data.test_sets:
        if not test_set.challenge:
            for column in natural_columns(data, test_set):
                if column.train_set == "filtered" and column.representation is not None:
                    for evaluator in data.plain_evaluators:
                        for top in (1, TOP):
                            there = Place(
                                column.representation, evaluator, "filtered", test_set.name, column.tested_on, top=top
                            )
                            yield from _mean(scores, there._replace(train_set="full", tested_on="full"), there)
    for representation in data.representations:
        names = list(dict.fromkeys(train_set for _, train_set, _ in cell_groups(data, representation)))
        for evaluator in data.plain_evaluators:
            for pair in compared_pairs(names):
                yield from _on_challenge_sets(data, representation, evaluator, pair)


def _on_challenge_sets(
    data: BenchmarkData, representation: str, evaluator: str, pair: tuple[str, str]
) -> Iterator[Difference]:
    scores = score_table(data)
    for test_set in data.test_sets:
        if test_set.challenge:
            for part in zero_shot_subsets(test_set):
                whole = Place(representation, evaluator, pair[0], test_set.name)
                place = whole._replace(column=part.column, category=part.category, label=part.label)
                yield from _mean(scores, place, place._replace(train_set=pair[1]))
                if part.column is part.label is None:
                    yield from _mean(scores, place._replace(top=TOP), place._replace(train_set=pair[1], top=TOP))


def _mean(scores: Any, first: Place, second: Place) -> Iterator[Difference]:
    """The difference of two means, where both are in the table of scores."""
    if first in scores and second in scores:
        yield Difference(
            comparison="means",
            representation=first.representation,
            evaluator=first.evaluator,
            train_set=first.train_set,
            tested_on=first.tested_on,
            against_representation=None,
            against_evaluator=None,
            against=second.train_set,
            against_tested_on=None if first.tested_on == second.tested_on else second.tested_on,
            test_set=first.test_set,
            column=first.column,
            category=first.category,
            label=first.label,
            top=first.top,
            test_rows=scores[first].test_rows,
            difference=points(scores[first], scores[second]),
        )
