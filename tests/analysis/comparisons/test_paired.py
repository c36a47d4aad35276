from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference, deciding_lack, paired_differences
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell
from aflite_assets.analysis.scores.subsets import compared_parts
from tests.planted_comparisons import PARTS, other_cell

ROWS: dict[tuple[str, str, str], list[float]] = {
    ("p", "test", "full"): [-0.5, 0.5, 1, -1, -1, 0],
    ("p", "test", "filtered"): [-0.5, 0.5, 1],
    ("p", "odd", "all"): [0, 1, 0.5, 1, 1, 1, 0.5, 0],
    ("q", "test", "full"): [-1, -1, -1, 1, 1, 1],
    ("q", "test", "filtered"): [-1, -1, -1],
    ("q", "odd", "all"): [0] * 8,
}
"""Filtered minus random per row, means over finished seeds, of representation `a`."""


def paired(data: BenchmarkData, representation: str) -> list[Difference]:
    return [one for one in paired_differences(data) if one.representation == representation]


def wholes(data: BenchmarkData, representation: str) -> list[Difference]:
    return [one for one in paired(data, representation) if one.whole]


def numbers(one: Difference) -> tuple[float | None, ...]:
    return one.difference, one.low, one.high, one.p_value, one.degrees_of_freedom, one.groups, one.effective_groups


def seeds(one: Difference) -> tuple[int | None, int | None]:
    return one.seeds, one.seeds_against


def deciding(data: BenchmarkData) -> list[tuple[str, str]]:
    """Evaluator and test set of the comparisons that decide whether filtering helps."""
    return [(one.evaluator, one.test_set) for one in analyse(data).of(DIFFERENCES) if one.deciding]


def opposite_halves(planted: BenchmarkData) -> BenchmarkData:
    """Two seeds on `hans`: trained on random right on one gold label, trained on filtered on the other."""
    hans = planted.test_sets[-1]

    def cell(train_set: str, answer: int, seed: int) -> Cell:
        said = {"test_set": ["hans"] * 300, "row_id": hans.row_ids, "predicted": [answer] * 300}
        return Cell("linear", train_set, "roberta", seed, 400, "done", None, pa.table(said))

    cells = (cell("random", 0, 0), cell("random", 0, 1), cell("filtered", 1, 0), cell("filtered", 1, 1))
    return replace(planted, test_sets=(hans,), cells=cells)


def test_every_difference(by_hand: BenchmarkData) -> None:
    found = {(one.evaluator, one.test_set, str(one.tested_on)): one for one in wholes(by_hand, "a")}
    assert list(found) == list(ROWS)
    for key, rows in ROWS.items():
        one = found[key]
        assert one.difference == pytest.approx(100 * np.mean(rows))
        assert one.test_rows == len(rows)
    assert {seeds(one) for one in found.values() if one.evaluator == "p"} == {(2, 2)}
    assert {seeds(one) for one in found.values() if one.evaluator == "q"} == {(1, 1)}


def test_small_sets_and_single_seeds_have_no_verdict(by_hand: BenchmarkData) -> None:
    said = {(one.evaluator, one.test_set, one.tested_on): one.why for one in wholes(by_hand, "a")}
    assert said["p", "odd", "all"] == said["p", "test", "full"] == "few rows"
    assert said["q", "test", "full"] == said["q", "odd", "all"] == "one seed"
    assert said["p", "test", "filtered"] == said["q", "test", "filtered"] == "chosen by the filter"


def test_without_random_there_is_no_interval(by_hand: BenchmarkData) -> None:
    q = [one for one in wholes(by_hand, "b") if one.evaluator == "q"]
    found = [(one.difference, one.side, one.why, *seeds(one)) for one in q]
    assert found == [(None, None, "not run", 2, 0)] * 3


def shown(data: BenchmarkData) -> dict[tuple[str, str, str], Difference]:
    found = [one for one in wholes(data, "roberta") if one.evaluator == "linear"]
    return {(one.against, one.test_set, one.tested_on): one for one in found}


def test_verdicts_are_given_where_the_filter_did_not_choose(planted: BenchmarkData) -> None:
    assert deciding(planted) == [("linear", "hans"), ("forest", "hans")]
    found = shown(planted)
    hans, test, kept = (found["random", *where] for where in (("hans", "all"), ("test", "full"), ("test", "filtered")))
    assert (hans.difference, seeds(hans)) == (pytest.approx(11), (3, 3))
    assert (hans.side, hans.family, hans.deciding) == ("above", "deciding", True)
    assert hans.adjusted_p == hans.p_value
    assert hans.simultaneous_low == pytest.approx(hans.low)
    # 11 points on hans, and 2.2 below zero to 4 over it on the natural rows
    assert hans.beyond_natural == pytest.approx(11 - (test.difference or 0))
    assert (test.family, test.deciding) == ("whole sets", False)
    assert kept.low is not None
    assert kept.low > 0
    assert (kept.side, kept.why, kept.deciding) == (None, "chosen by the filter", False)
    # two comparisons on whole sets are left for the other family: the full rows of test and validation
    assert test.p_value is not None
    assert test.adjusted_p == pytest.approx(2 * test.p_value)


def test_sets_that_were_collected_adversarially_decide_nothing(planted: BenchmarkData) -> None:
    (*natural, hans) = planted.test_sets
    data = replace(planted, test_sets=(*natural, replace(hans, collected="adversarially")))
    one = shown(data)["random", "hans", "all"]
    assert (one.side, one.why) == (None, "collected adversarially")
    assert deciding_lack(data) == "collected adversarially"


def test_a_gain_on_an_undeclared_set_needs_natural_rows_as_hard(planted: BenchmarkData) -> None:
    (*natural, hans) = planted.test_sets
    data = replace(planted, test_sets=(*natural, replace(hans, collected=None)))
    one = shown(data)["random", "hans", "all"]
    assert (one.side, one.why) == ("open", "too few natural rows of the same class and difficulty")
    assert (one.beyond_natural, one.adjusted_p) == (None, 1.0)


def test_evaluators_of_the_filters_make_and_those_that_learnt_nothing_do_not_decide(planted: BenchmarkData) -> None:
    linear = [cell for cell in planted.cells if cell.evaluator == "linear"]
    other = [replace(cell, evaluator="other") for cell in linear]
    families = {"representations.roberta": "linear", "evaluators.linear": "linear", "evaluators.other": "forest"}
    data = replace(planted, cells=(*linear, *other), families=families)
    assert deciding(data) == [("other", "hans")]
    assert deciding_lack(data) is None
    alone = replace(planted, cells=tuple(linear), families=families)
    assert (deciding(alone), deciding_lack(alone)) == ([], "same make")
    one_class = tuple(_one_class(cell, "test") for cell in linear)
    assert (deciding(replace(planted, cells=one_class)), deciding_lack(replace(planted, cells=one_class))) == (
        [], "nothing learnt"
    )  # fmt: skip


def _one_class(cell: Cell, test_set: str) -> Cell:
    """A cell that gives the rows of one test set one class."""
    if cell.predictions is None:
        return cell
    table = cell.predictions
    there = pc.equal(table["test_set"], test_set)
    place = table.column_names.index("predicted")
    said = pc.if_else(there, pa.scalar(0, pa.int64()), table["predicted"])
    return replace(cell, predictions=table.set_column(place, "predicted", said))


def test_rows_that_entered_the_pool_support_no_verdict(planted: BenchmarkData) -> None:
    sets = tuple(replace(one, pooled=not one.challenge) for one in planted.test_sets)
    found = shown(replace(planted, test_sets=sets))
    assert {one.why for (_, name, _), one in found.items() if name != "hans"} == {"took part in the filter"}
    assert found["random", "hans", "all"].deciding
    without = replace(planted, test_sets=sets[:2])
    assert (deciding(without), deciding_lack(without)) == ([], "no challenge set")
    assert deciding_lack(replace(without, missing_sets={"hans": "no file"})) == "set not available"


def test_differences_under_the_smallest_effect_are_open(planted: BenchmarkData) -> None:
    assert shown(replace(planted, smallest_effect=11.5))["random", "hans", "all"].why == "under 11.5 points"


def test_intervals_count_groups_of_test_rows(planted: BenchmarkData) -> None:
    hans = planted.test_sets[-1]
    grouped = replace(hans, groups=np.arange(300) // 30)
    alone, together = (shown(replace(planted, test_sets=(one,)))["random", "hans", "all"] for one in (hans, grouped))
    assert (alone.groups, together.groups) == (300, 10)
    few = shown(replace(planted, test_sets=(replace(hans, groups=np.arange(300) // 40),)))["random", "hans", "all"]
    assert few.why == "few groups"


def test_random_rows_of_the_same_class_sizes_are_the_control(planted: BenchmarkData) -> None:
    matched = tuple(replace(cell, train_set="random_matched") for cell in planted.cells if cell.train_set == "random")
    data = replace(planted, cells=(*planted.cells, *matched))
    found = shown(data)
    assert {against for against, _, _ in found} == {"random_matched", "random"}
    assert found["random_matched", "hans", "all"].deciding
    assert {one.why for (against, _, _), one in found.items() if against == "random"} == {"not the control"}
    assert numbers(found["random", "hans", "all"]) == numbers(found["random_matched", "hans", "all"])
    parts = [one for one in paired(data, "roberta") if not one.whole]
    assert {one.against for one in parts} == {"random_matched"}
    assert {one.family for one in parts} == {"parts of sets"}


def test_weights_are_compared_with_the_same_rows_and_with_the_control(planted: BenchmarkData) -> None:
    linear = [cell for cell in planted.cells if cell.evaluator == "linear"]
    matched = [replace(cell, train_set="random_matched") for cell in linear if cell.train_set == "random"]
    weighted = [
        replace(cell, train_set="weighted", representation="roberta") for cell in linear if cell.train_set == "full"
    ]
    plain = replace(planted, cells=(*linear, *matched))
    data = replace(plain, cells=(*plain.cells, *weighted))
    found = {
        (one.against, one.test_set, one.tested_on): one
        for one in paired(data, "roberta")
        if one.train_set == "weighted"
    }
    assert {against for against, _, _ in found} == {"full", "random_matched"}
    same, fewer = found["full", "test", "full"], found["random_matched", "test", "full"]
    assert (same.difference, seeds(same)) == (0.0, (3, 3))
    assert fewer.difference == pytest.approx(100 * (0.6 * 0.04 + 0.4 * 0.05), abs=0.1)
    assert {(one.side, one.why) for one in found.values()} == {(None, "about weights")}
    # the families of verdicts on removal stay as they are
    filtered = [one for one in paired(data, "roberta") if one.train_set == "filtered"]
    assert filtered == paired(plain, "roberta")


def test_parts_of_challenge_sets_are_compared_too(by_hand: BenchmarkData) -> None:
    parts = [one for one in paired(by_hand, "a") if one.evaluator == "p" and not one.whole]
    assert {one.test_set for one in parts} == {"odd"}
    found = {(one.column, one.category, one.label): (one.test_rows, one.difference) for one in parts}
    assert list(found) == list(PARTS)
    assert found == {key: (rows, pytest.approx(points)) for key, (rows, points) in PARTS.items()}
    no = next(one for one in parts if one.column is None and one.label == "no")
    assert (no.groups, seeds(no)) == (4, (2, 2))


def test_halves_that_cancel_in_the_whole_are_told_apart(planted: BenchmarkData) -> None:
    whole, yes, no = paired(opposite_halves(planted), "roberta")[:3]
    assert (whole.difference, whole.side) == (0, "open")
    assert (yes.label, yes.side) == ("entailment", "below")
    assert (no.label, no.side) == ("non-entailment", "above")
    # the models differ on each of 150 rows: 100 - 3.69 / 150 of all, two-sided
    assert (no.low, no.difference, no.high) == (pytest.approx(100 - 100 * np.log(40) / 150), 100, 100)


def test_earlier_iterations_are_compared_with_random_rows_of_their_size(
    by_hand: BenchmarkData, make_by_hand: Any
) -> None:
    cells = (*by_hand.cells, other_cell("filtered_mild", "11111111"), other_cell("random_mild", "11110000"))
    found = paired(make_by_hand(cells=cells), "a")
    mild = {
        (one.column, one.category, one.label): one
        for one in found
        if one.evaluator == "p" and one.train_set == "filtered_mild" and one.test_set == "odd"
    }
    assert {one.against for one in mild.values()} == {"random_mild"}
    whole, y = mild[None, None, None], mild["kind", "y", None]
    assert (whole.difference, *seeds(whole)) == (50, 1, 1)
    assert (y.low, y.difference, y.high) == (pytest.approx(100 - 100 * np.log(40) / 4), 100, 100)
    assert list(dict.fromkeys((one.evaluator, one.train_set, one.against) for one in found)) == [
        ("p", "filtered", "random"), ("p", "filtered_mild", "random_mild"),
        ("q", "filtered", "random"), ("q", "filtered_mild", "random_mild"),
    ]  # fmt: skip
    assert {one.difference for one in found if (one.evaluator, one.train_set) == ("q", "filtered_mild")} == {None}


def test_an_earlier_iteration_without_its_control_has_no_pair(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    cells = (*by_hand.cells, other_cell("filtered_mild", "11111111"))
    assert {one.against for one in paired(make_by_hand(cells=cells), "a")} == {"random"}


def test_a_challenge_set_of_one_part_and_natural_sets_have_none(by_hand: BenchmarkData) -> None:
    test, odd = by_hand.test_sets
    assert [part.name for part in compared_parts(test)] == [(None, None, None)]
    single = replace(odd, row_ids=odd.row_ids[::2], labels=odd.labels[::2], categories={})
    assert [part.name for part in compared_parts(single)] == [(None, None, None)]
    single = replace(single, categories={"kind": np.array(["x", "", "", ""], dtype=object)})
    assert [(part.category, int(part.mask.sum())) for part in compared_parts(single)[1:]] == [(None, 1), ("x", 1)]


@pytest.mark.parametrize(("runs", "why"), [(1, None), (3, "few filter runs"), (8, None)])
def test_few_runs_of_the_filter_say_nothing_of_the_procedure(
    planted: BenchmarkData, runs: int, why: str | None
) -> None:
    seeds = sorted({cell.seed for cell in planted.cells})
    # with eight runs the planted seeds are of three of them, and the others have no training
    numbers = {seed: place % runs for place, seed in enumerate([*seeds, *range(100, 100 + runs)])}
    data = replace(planted, filter_runs=numbers if runs > 1 else {})
    (deciding, *_) = (one for one in paired_differences(data) if one.deciding or one.why == "few filter runs")
    assert deciding.why == why
    assert (deciding.side is None) == (why is not None)
