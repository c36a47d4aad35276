from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aflite_assets.analysis.comparisons.paired import PairedDifference, paired_differences
from aflite_assets.analysis.comparisons.primary import primary_comparison
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell
from aflite_assets.analysis.scores.subsets import compared_subsets
from aflite_assets.reports.tables.paired import PAIRED, paired_tables

MINUS = "\N{MINUS SIGN}"
ROWS: dict[tuple[str, str, str], list[float]] = {
    ("p", "test", "full"): [-0.5, 0.5, 1, -1, -1, 0],
    ("p", "test", "filtered"): [-0.5, 0.5, 1],
    ("p", "odd", "all"): [0, 1, 0.5, 1, 1, 1, 0.5, 0],
    ("q", "test", "full"): [-1, -1, -1, 1, 1, 1],
    ("q", "test", "filtered"): [-1, -1, -1],
    ("q", "odd", "all"): [0] * 8,
}
"""Filtered minus random per row, means over finished seeds, of representation `a`."""

PARTS: dict[tuple[str | None, str | None, str | None], tuple[int, float]] = {
    (None, None, "yes"): (4, 50),
    (None, None, "no"): (4, 75),
    ("kind", "x", None): (4, 62.5),
    ("kind", "x", "yes"): (2, 25),
    ("kind", "x", "no"): (2, 100),
    ("kind", "y", None): (4, 62.5),
    ("kind", "y", "yes"): (2, 75),
    ("kind", "y", "no"): (2, 50),
    ("rule", None, None): (3, 200 / 3),
    ("rule", None, "yes"): (2, 50),
    ("rule", None, "no"): (1, 100),
}
"""Of `odd` by `p`, from the row of numbers above: rows of each part and the difference in points."""


def wholes(data: BenchmarkData, representation: str) -> list[PairedDifference]:
    return [one for one in paired_differences(data, representation) if one.whole]


def other_cell(train_set: str, right: str, seed: int = 0) -> Cell:
    """Evaluator `p` on a train set of representation `a`; a bit per row of `odd`."""
    predicted = [row % 2 if bit == "1" else 1 - row % 2 for row, bit in enumerate(right)]
    said = {"test_set": ["odd"] * 8, "row_id": [*range(8)], "predicted": predicted}
    return Cell("p", train_set, "a", seed, 30, "done", None, pa.table(said))


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
        assert one.interval is not None
        assert one.interval.difference == pytest.approx(100 * np.mean(rows))
        assert one.test_rows == len(rows)
    assert {(one.filtered_seeds, one.random_seeds) for one in found.values() if one.evaluator == "p"} == {(2, 2)}
    assert {(one.filtered_seeds, one.random_seeds) for one in found.values() if one.evaluator == "q"} == {(1, 1)}


def test_small_sets_and_single_seeds_have_no_verdict(by_hand: BenchmarkData) -> None:
    said = {(one.evaluator, one.test_set, one.tested_on): one.verdict.why for one in wholes(by_hand, "a")}
    assert said["p", "odd", "all"] == said["p", "test", "full"] == "few rows"
    assert said["q", "test", "full"] == said["q", "odd", "all"] == "one seed"
    assert said["p", "test", "filtered"] == said["q", "test", "filtered"] == "chosen by the filter"


def test_without_random_there_is_no_interval(by_hand: BenchmarkData) -> None:
    q = [one for one in wholes(by_hand, "b") if one.evaluator == "q"]
    found = [(one.interval, one.verdict.side, one.verdict.why, one.filtered_seeds, one.random_seeds) for one in q]
    assert found == [(None, None, "not run", 2, 0)] * 3


def shown(data: BenchmarkData) -> dict[tuple[str, str, str], PairedDifference]:
    found = [one for one in wholes(data, "roberta") if one.evaluator == "linear"]
    return {(one.against, one.test_set, one.tested_on): one for one in found}


def test_verdicts_are_given_where_the_filter_did_not_choose(planted: BenchmarkData) -> None:
    assert primary_comparison(planted).chosen == ("linear", "hans")
    found = shown(replace(planted, primary=("linear", "test")))
    hans, test, kept = (found["random", *where] for where in (("hans", "all"), ("test", "full"), ("test", "filtered")))
    assert hans.interval is not None
    assert (hans.interval.difference, hans.interval.trainings) == (pytest.approx(11), (3, 3))
    assert (hans.verdict.side, hans.verdict.family, hans.primary) == ("above", "whole sets", False)
    assert (test.verdict.family, test.primary) == ("primary", True)
    assert test.verdict.adjusted_p == (test.interval and test.interval.p_value)
    assert kept.interval is not None
    assert kept.interval.low > 0
    assert (kept.verdict.side, kept.verdict.why, kept.primary) == (None, "chosen by the filter", False)
    # two comparisons on whole sets are left for one family: hans and the full rows of validation
    assert hans.verdict.adjusted_p == pytest.approx(2 * hans.interval.p_value)


def test_an_evaluator_that_cannot_do_the_challenge_set_does_not_judge_on_it(planted: BenchmarkData) -> None:
    linear = [cell for cell in planted.cells if cell.evaluator == "linear"]
    other = [replace(cell, evaluator="other") for cell in linear]
    families = {"representations.roberta": "linear", "evaluators.linear": "linear", "evaluators.other": "forest"}
    data = replace(planted, cells=(*linear, *other), families=families)
    assert primary_comparison(data).chosen == ("other", "hans")
    one_class = tuple(_one_class(cell, "hans") if cell.evaluator == "other" else cell for cell in data.cells)
    assert primary_comparison(replace(data, cells=one_class)).chosen == ("linear", "hans")
    neither = tuple(_one_class(cell, "hans") for cell in data.cells)
    assert primary_comparison(replace(data, cells=neither)).chosen == ("other", "hans")


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
    assert {one.verdict.why for (_, name, _), one in found.items() if name != "hans"} == {"took part in the filter"}
    assert found["random", "hans", "all"].primary
    assert primary_comparison(replace(planted, test_sets=sets)).chosen == ("linear", "hans")
    assert primary_comparison(replace(planted, test_sets=sets[:2])).chosen is None
    assert not any(one.primary for one in shown(replace(planted, test_sets=sets[:2])).values())


def test_the_settings_name_the_primary_comparison(planted: BenchmarkData) -> None:
    found = shown(replace(planted, primary=("linear", "hans")))
    assert [where for where, one in found.items() if one.primary] == [("random", "hans", "all")]
    assert found["random", "test", "full"].verdict.family == "whole sets"


def test_differences_under_the_smallest_effect_are_open(planted: BenchmarkData) -> None:
    assert shown(replace(planted, smallest_effect=11.5))["random", "hans", "all"].verdict.why == "under 11.5 points"


def test_intervals_count_groups_of_test_rows(planted: BenchmarkData) -> None:
    hans = planted.test_sets[-1]
    grouped = replace(hans, groups=np.arange(300) // 30)
    alone, together = (shown(replace(planted, test_sets=(one,)))["random", "hans", "all"] for one in (hans, grouped))
    assert alone.interval is not None
    assert together.interval is not None
    assert (alone.interval.groups, together.interval.groups) == (300, 10)
    few = shown(replace(planted, test_sets=(replace(hans, groups=np.arange(300) // 40),)))["random", "hans", "all"]
    assert few.verdict.why == "few groups"


def test_random_rows_of_the_same_class_sizes_are_the_control(planted: BenchmarkData) -> None:
    matched = tuple(replace(cell, train_set="random_matched") for cell in planted.cells if cell.train_set == "random")
    data = replace(planted, cells=(*planted.cells, *matched), primary=("linear", "test"))
    found = shown(data)
    assert {against for against, _, _ in found} == {"random_matched", "random"}
    assert found["random_matched", "test", "full"].primary
    assert {one.verdict.why for (against, _, _), one in found.items() if against == "random"} == {"not the control"}
    assert found["random", "hans", "all"].interval == found["random_matched", "hans", "all"].interval
    parts = [one for one in paired_differences(data, "roberta") if not one.whole]
    assert {one.against for one in parts} == {"random_matched"}
    assert {one.verdict.family for one in parts} == {"parts of sets"}


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
        for one in paired_differences(data, "roberta")
        if one.train_set == "weighted"
    }
    assert {against for against, _, _ in found} == {"full", "random_matched"}
    same, fewer = found["full", "test", "full"], found["random_matched", "test", "full"]
    assert same.interval is not None
    assert fewer.interval is not None
    assert (same.interval.difference, same.interval.trainings) == (0.0, (3, 3))
    assert fewer.interval.difference == pytest.approx(100 * (0.6 * 0.04 + 0.4 * 0.05), abs=0.1)
    assert {(one.verdict.side, one.verdict.why) for one in found.values()} == {(None, "about weights")}
    # the families of verdicts on removal stay as they are
    filtered = [one for one in paired_differences(data, "roberta") if one.train_set == "filtered"]
    assert filtered == list(paired_differences(plain, "roberta"))
    table = paired_tables(data)[0]
    assert ("linear", "weighted minus full") in [shared for shared, _ in table.bodies]
    assert "there is none on weights" in table.notes[0]
    assert "there is none on weights" not in paired_tables(plain)[0].notes[0]


def test_parts_of_challenge_sets_are_compared_too(by_hand: BenchmarkData) -> None:
    parts = [one for one in paired_differences(by_hand, "a") if one.evaluator == "p" and not one.whole]
    assert {one.test_set for one in parts} == {"odd"}
    found = {
        (one.column, one.category, one.label): (one.test_rows, one.interval and one.interval.difference)
        for one in parts
    }
    assert list(found) == list(PARTS)
    assert found == {key: (rows, pytest.approx(points)) for key, (rows, points) in PARTS.items()}
    no = next(one for one in parts if one.is_label and one.label == "no")
    assert no.interval is not None
    assert (no.interval.groups, no.interval.trainings) == (4, (2, 2))


def test_halves_that_cancel_in_the_whole_are_told_apart(planted: BenchmarkData) -> None:
    whole, yes, no = paired_differences(opposite_halves(planted), "roberta")[:3]
    assert whole.interval is not None
    assert (whole.interval.difference, whole.verdict.side) == (0, "open")
    assert (yes.label, yes.verdict.side) == ("entailment", "below")
    assert (no.label, no.verdict.side) == ("non-entailment", "above")
    assert no.interval is not None
    assert (no.interval.low, no.interval.difference, no.interval.high) == (100, 100, 100)


def test_earlier_iterations_are_compared_with_random_rows_of_their_size(
    by_hand: BenchmarkData, make_by_hand: Any
) -> None:
    cells = (*by_hand.cells, other_cell("filtered_mild", "11111111"), other_cell("random_mild", "11110000"))
    found = paired_differences(make_by_hand(cells=cells), "a")
    mild = {
        (one.column, one.category, one.label): one
        for one in found
        if one.evaluator == "p" and one.train_set == "filtered_mild" and one.test_set == "odd"
    }
    assert {one.against for one in mild.values()} == {"random_mild"}
    whole, y = mild[None, None, None], mild["kind", "y", None]
    assert whole.interval is not None
    assert y.interval is not None
    assert (whole.interval.difference, whole.filtered_seeds, whole.random_seeds) == (50, 1, 1)
    assert (y.interval.low, y.interval.difference, y.interval.high) == (100, 100, 100)
    assert [shared for shared, _ in paired_tables(make_by_hand(cells=cells))[0].bodies] == [
        ("p", "filtered minus random"), ("p", "filtered_mild minus random_mild"),
        ("q", "filtered minus random"), ("q", "filtered_mild minus random_mild"),
    ]  # fmt: skip
    assert {one.interval for one in found if (one.evaluator, one.train_set) == ("q", "filtered_mild")} == {None}


def test_an_earlier_iteration_without_its_control_has_no_pair(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    cells = (*by_hand.cells, other_cell("filtered_mild", "11111111"))
    assert {one.against for one in paired_differences(make_by_hand(cells=cells), "a")} == {"random"}


def test_whole_sets_are_listed_with_their_verdicts(by_hand: BenchmarkData, values: Any) -> None:
    a, b = (table for table in paired_tables(by_hand) if not table.of)
    assert [column.plain for column in a.columns] == ["rows", "difference (points)", "verdict", "seeds"]
    shown = {row.headings[0:1] + row.headings[2:]: [cell.plain for cell in row.cells] for row in a.rows}
    assert shown["q", "test, filtered rows"] == [
        "3", f"{MINUS}100.0, [{MINUS}100.0, {MINUS}100.0], rows alone", "no verdict: chosen by the filter", "1 and 1",
    ]  # fmt: skip
    assert shown["q", "odd, all rows"] == ["8", "0.0, [0.0, 0.0], rows alone", "no verdict: one seed", "1 and 1"]
    assert shown["p", "odd, all rows"][2] == "primary: no verdict: few rows"
    assert a.notes[0].startswith("Points of accuracy on the same test rows, against as many random rows (random).")
    assert values(b)["q", "filtered minus random", "test, full rows"] == [
        6, "not run", "no verdict: not run", "2 and 0",
    ]  # fmt: skip


def test_verdicts_shade_and_the_primary_is_in_bold(planted: BenchmarkData) -> None:
    table = paired_tables(replace(planted, primary=("linear", "test")))[0]
    cells = {row.headings[2]: row.cells[2] for row in table.rows if row.headings[0] == "linear"}
    assert {name: (one.text, one.shaded, one.strong) for name, one in cells.items() if one.shaded} == {
        "test, full rows": ("primary: above", True, True),
        "hans, all rows": ("above", True, False),
    }


def test_parts_stand_beside_each_other(by_hand: BenchmarkData, values: Any) -> None:
    _, table, _, b = paired_tables(by_hand)
    assert (table.name, table.of) == ("paired_a", "odd, filtered minus random")
    assert [column.plain for column in table.columns] == ["rows", "p (points)", "q (points)"]
    assert [row[:2] for row in values(table).values()] == [
        [rows, pytest.approx(points)] for rows, points in PARTS.values()
    ]
    assert table.rows[4].headings == ("x, no",)
    assert [cell.plain for cell in table.rows[4].cells] == [
        "2", "100.0, [100.0, 100.0], no verdict: few rows", "0.0, [0.0, 0.0], rows alone, no verdict: one seed",
    ]  # fmt: skip
    assert {row.cells[2].text for row in b.rows} == {"not run"}


def test_categories_of_one_name_in_two_columns_stay_apart(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    same = {"kind": np.array(["x"] * 4 + ["y"] * 4), "sort": np.array(["x", "x", "y", "y"] * 2)}
    table = paired_tables(make_by_hand(test_sets=(test, replace(odd, categories=same))))[1]
    named_x = [row for row in table.rows if row.headings == ("x",)]
    assert [row.cells[1].value for row in named_x] == pytest.approx([62.5, 75])
    assert [row.cells[0].text for row in named_x] == ["4", "4"]


def test_long_form_has_every_comparison(by_hand: BenchmarkData) -> None:
    rows = PAIRED.table(by_hand).to_pylist()
    (pair,) = (
        row for row in rows
        if (row["representation"], row["evaluator"], row["tested_on"]) == ("a", "q", "filtered")
    )  # fmt: skip
    assert (pair["difference"], pair["low"], pair["high"], pair["test_rows"]) == (-100, -100, -100, 3)
    assert (pair["train_set"], pair["against"], pair["label"]) == ("filtered", "random", None)
    assert (pair["counts_training"], pair["side"], pair["why"]) == (False, None, "chosen by the filter")
    assert (pair["groups"], pair["effective_groups"], pair["p_value"]) == (3, pytest.approx(3), 0)
    assert len(rows) == 2 * 2 * (3 + len(PARTS))


def test_a_challenge_set_of_one_part_and_natural_sets_have_none(by_hand: BenchmarkData) -> None:
    test, odd = by_hand.test_sets
    assert compared_subsets(test) == []
    single = replace(odd, row_ids=odd.row_ids[::2], labels=odd.labels[::2], categories={})
    assert compared_subsets(single) == []
    single = replace(single, categories={"kind": np.array(["x", "", "", ""], dtype=object)})
    assert [(part.category, int(part.mask.sum())) for part in compared_subsets(single)] == [(None, 1), ("x", 1)]
