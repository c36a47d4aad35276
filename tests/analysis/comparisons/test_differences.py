"""The tidy table of differences: every kind of comparison has its rows, and every record comes back from a file."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from aflite_assets.analysis.analysis import TABLES, Analysis, analyse
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.intervals import crossed_interval, label_mean_interval
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.score_tables import ACCURACIES
from aflite_assets.analysis.tidy import TidyTable
from tests.planted_comparisons import PARTS

FIXTURES = (
    "planted", "by_hand", "hostile", "with_rows", "with_weak_models", "by_size", "ranked", "tuned", "many_classes",
    "forgotten",
)  # fmt: skip
FILLED_ELSEWHERE = {
    "answer_picks", "attribute_accuracies", "data_maps", "edits", "leanings", "planted",
    "predictability_by_iteration", "sample_curve", "similarities", "warmup_curve",
}  # fmt: skip
"""Tables that `test_analysis`, `test_attributes`, `test_edited_copies` and `rows/test_measured` fill."""
MEANS: dict[tuple[str, str], list[float]] = {
    ("filtered", "full"): [43.75, 25, 25, 25, 62.5, 75, 50, 50, 50, 50],
    ("filtered", "random"): [62.5, 62.5, 25, 100, 62.5, 75, 50, 200 / 3, 50, 100],
}
"""Of `odd` by `p` and representation `a`: the whole, x with its labels, y with its labels, any rule with its labels."""


Analysed = Callable[[str], Analysis]


@pytest.fixture(scope="module")
def analysed(request: pytest.FixtureRequest) -> Analysed:
    """Analyses of the benchmarks that fixtures of these names make, each made once for all tests."""
    return cache(lambda what: analyse(request.getfixturevalue(what)))


def of_kind(data: BenchmarkData, comparison: str, **where: Any) -> list[Difference]:
    found = [one for one in analyse(data).of(DIFFERENCES) if one.comparison == comparison]
    return [one for one in found if all(getattr(one, name) == value for name, value in where.items())]


@pytest.mark.parametrize(
    ("what", "kinds"),
    [
        ("by_hand", {"control", "means"}),
        ("tuned", {"control", "transfer", "means"}),
        ("ranked", {"ranking", "control", "means"}),
        ("forgotten", {"control", "second phase", "means"}),
    ],
)
def test_each_kind_of_comparison_has_its_rows(what: str, kinds: set[str], analysed: Analysed) -> None:
    found = analysed(what).of(DIFFERENCES)
    assert {one.comparison for one in found} == kinds
    keys = Counter(
        (one.comparison, one.representation, one.evaluator, one.train_set, one.tested_on, one.against_evaluator,
         one.against, one.against_tested_on, one.test_set, one.column, one.category, one.label, one.top)
        for one in found
    )  # fmt: skip
    assert [key for key, times in keys.items() if times > 1] == []


def test_filtered_and_its_control_are_compared_on_every_set_and_part(by_hand: BenchmarkData) -> None:
    assert len(of_kind(by_hand, "control")) == 2 * 2 * (3 + len(PARTS))
    (pair,) = of_kind(by_hand, "control", representation="a", evaluator="q", tested_on="filtered")
    assert (pair.difference, pair.low, pair.high, pair.test_rows) == (-100, -100, pytest.approx(22.963, abs=1e-3), 3)
    assert (pair.train_set, pair.against, pair.label) == ("filtered", "random", None)
    assert (pair.counts_training, pair.side, pair.why) == (False, None, "chosen by the filter")
    assert (pair.groups, pair.effective_groups, pair.p_value) == (3, pytest.approx(3), 0)
    found = {(one.column, one.category, one.label): (one.test_rows, one.difference)
             for one in of_kind(by_hand, "control", representation="a", evaluator="p", test_set="odd")
             if not one.whole}  # fmt: skip
    assert found == {key: (rows, pytest.approx(points)) for key, (rows, points) in PARTS.items()}


def test_numbers_of_a_record_are_those_of_its_interval_and_verdict(planted: BenchmarkData) -> None:
    tests = {one.name: one for one in planted.test_sets}
    whole = of_kind(planted, "control", evaluator="linear", column=None, label=None)
    assert [(one.test_set, one.tested_on) for one in whole if one.tested_on != "filtered"] == [
        ("test", "full"), ("validation", "full"), ("hans", "all"),
    ]  # fmt: skip
    for one in whole:
        test = tests[one.test_set]
        rows = test.kept["roberta"] if one.tested_on == "filtered" else np.ones(len(test.row_ids), dtype=bool)
        first, second = (
            [right[rows] for right in trained_right(planted, "linear", name, "roberta", test)] for name in one.pair
        )
        interval = crossed_interval(first, second)
        assert (one.difference, one.low, one.high) == (interval.difference, interval.low, interval.high)
        assert (one.p_value, one.degrees_of_freedom) == (interval.p_value, interval.degrees_of_freedom)
        means = label_mean_interval(first, second, test.labels[rows])
        assert (one.label_mean, one.label_mean_low, one.label_mean_high) == (
            (means.difference, means.low, means.high) if test.challenge else (None,) * 3
        )
    assert [(one.side, one.why, one.family) for one in whole] == [
        ("open", "one of many comparisons", "whole sets"), (None, "chosen by the filter", "whole sets"),
        ("open", None, "whole sets"), (None, "chosen by the filter", "whole sets"), ("above", None, "deciding"),
    ]  # fmt: skip
    missing = of_kind(planted, "control", evaluator="forest")
    assert {(one.difference, one.low, one.high, one.label_mean, one.side) for one in missing} == {(None,) * 5}
    (hans,) = of_kind(planted, "control", evaluator="linear", test_set="hans", column=None, label=None)
    assert (hans.whole, hans.deciding, hans.found, hans.pair) == (True, True, True, ("filtered", "random"))


def test_fine_tuned_evaluators_are_compared_on_the_sets_of_their_stages(tuned: BenchmarkData) -> None:
    found = {(one.evaluator, one.against): one for one in of_kind(tuned, "transfer", representation="a")}
    assert {key: one.difference for key, one in found.items()} == {
        ("p_odd", "full"): pytest.approx(31.25), ("p_odd", "random"): pytest.approx(56.25),
        ("p", "full"): pytest.approx(43.75), ("p", "random"): pytest.approx(62.5),
    }  # fmt: skip
    gain = found["p_odd", "full"]
    assert gain.low is not None
    assert gain.high is not None
    assert -100 <= gain.low < 31.25 < gain.high <= 100
    assert (gain.groups, gain.counts_training, gain.side, gain.test_rows) == (8, True, None, 8)
    assert {one.difference for one in of_kind(tuned, "transfer", representation="b", evaluator="p_odd")} == {None}


def test_means_on_challenge_sets_stand_by_part(by_hand: BenchmarkData) -> None:
    for pair, numbers in MEANS.items():
        found = of_kind(by_hand, "means", representation="a", evaluator="p", test_set="odd", pair=pair)
        assert [one.difference for one in found] == pytest.approx(numbers), pair
    where = {"representation": "a", "evaluator": "p", "column": "kind", "category": "x", "label": "no"}
    assert [(one.pair, one.difference) for one in of_kind(by_hand, "means", **where)] == [
        (("filtered", "full"), 25), (("filtered", "random"), 100),
    ]  # fmt: skip
    q = of_kind(by_hand, "means", representation="a", evaluator="q", test_set="odd")
    assert [one.difference for one in q if one.against == "full"] == [0.0] * 10
    missing = of_kind(by_hand, "means", representation="b", evaluator="q", test_set="odd", against="random")
    assert [one.difference for one in missing] == [None] * 10


def test_means_of_natural_sets_are_from_full_to_filtered(by_hand: BenchmarkData, many_classes: BenchmarkData) -> None:
    falls = of_kind(by_hand, "means", evaluator="p", test_set="test", pair=("full", "filtered"))
    assert [(one.representation, one.tested_on, one.against_tested_on, one.difference) for one in falls] == [
        ("a", "full", "filtered", pytest.approx(-25 / 3)), ("b", "full", "filtered", 12.5),
    ]  # fmt: skip
    found = of_kind(many_classes, "means", column=None, label=None, pair=("full", "filtered"))
    assert [(one.test_set, one.top, one.difference) for one in found] == [("test", 1, -25), ("test", 5, None)]


@pytest.mark.parametrize("what", FIXTURES)
def test_means_are_differences_of_two_accuracies(what: str, analysed: Analysed) -> None:
    analysis = analysed(what)
    accuracies = {
        (one.representation, one.evaluator, one.train_set, one.test_set, one.tested_on, one.column, one.category,
         one.label, one.top): one
        for one in analysis.of(ACCURACIES)
    }  # fmt: skip
    means = [one for one in analysis.of(DIFFERENCES) if one.comparison == "means"]
    assert bool(means) == bool(analysis.facts.plain_evaluators)
    for one in means:
        part = (one.column, one.category, one.label, one.top)
        of = (one.representation, one.evaluator)
        first = accuracies[(*of, one.train_set, one.test_set, one.tested_on, *part)]
        second = accuracies[(*of, one.against, one.test_set, one.against_tested_on or one.tested_on, *part)]
        assert (one.low, one.side, one.test_rows) == (None, None, first.test_rows)
        if first.accuracy is None or second.accuracy is None:
            assert one.difference is None
        else:
            assert one.difference == 100 * (first.accuracy - second.accuracy)


@pytest.mark.parametrize("what", FIXTURES)
@pytest.mark.parametrize("table", [table for table, _ in TABLES], ids=lambda table: table.name)
def test_every_table_comes_back_from_arrow_parquet_and_json(
    what: str, table: TidyTable[Any], analysed: Analysed, tmp_path: Any
) -> None:
    records = analysed(what).of(table)
    arrow = table.to_arrow(records)
    assert table.from_arrow(arrow) == records
    pq.write_table(arrow, tmp_path / "table.parquet")
    assert table.from_arrow(pq.read_table(tmp_path / "table.parquet")) == records
    adapter: TypeAdapter[tuple[Any, ...]] = TypeAdapter(tuple[table.record, ...])  # type: ignore[name-defined]
    assert adapter.validate_json(adapter.dump_json(records)) == records


def test_every_table_has_records_somewhere(analysed: Analysed) -> None:
    found = [analysed(what) for what in FIXTURES]
    empty = {table.name for table, _ in TABLES if not any(one.of(table) for one in found)}
    assert empty == FILLED_ELSEWHERE
