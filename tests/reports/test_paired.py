import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.paired import (
    PairedDifference,
    compared_parts,
    paired_differences,
    paired_interval,
    part_tables,
    whole_groups,
)
from aflite_assets.reports.records import BenchmarkData, Cell

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


def slow_interval(differences: np.ndarray, seed: int, resamples: int) -> tuple[float, float]:
    """The bootstrap with a row drawn at a time."""
    rng = np.random.default_rng(seed)
    means = [100 * differences[rng.integers(0, len(differences), len(differences))].mean() for _ in range(resamples)]
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def test_every_difference(by_hand: BenchmarkData) -> None:
    found = {(one.evaluator, one.test_set, str(one.tested_on)): one for one in wholes(by_hand, "a")}
    assert list(found) == list(ROWS)
    for key, rows in ROWS.items():
        one = found[key]
        assert one.interval == paired_interval(np.array(rows, dtype=float), seed=0), key
        assert one.interval is not None
        assert one.interval.difference == pytest.approx(100 * np.mean(rows))
        assert one.test_rows == len(rows)
    assert {(one.filtered_seeds, one.random_seeds) for one in found.values() if one.evaluator == "p"} == {(2, 2)}
    assert {(one.filtered_seeds, one.random_seeds) for one in found.values() if one.evaluator == "q"} == {(1, 1)}


def test_verdicts_are_sides_of_zero(by_hand: BenchmarkData) -> None:
    said = {(one.evaluator, one.test_set, one.tested_on): one.verdict for one in wholes(by_hand, "a")}
    assert said["p", "odd", "all"] == "above"
    assert said["q", "test", "filtered"] == "below"
    assert said["p", "test", "full"] == said["q", "odd", "all"] == "open"


def test_without_random_there_is_no_interval(by_hand: BenchmarkData) -> None:
    q = [one for one in wholes(by_hand, "b") if one.evaluator == "q"]
    assert [(one.interval, one.verdict, one.filtered_seeds, one.random_seeds) for one in q] == [(None, None, 2, 0)] * 3


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
    assert no.interval == paired_interval(np.array([1.0, 1.0, 1.0, 0.0]), seed=0)


def test_halves_that_cancel_in_the_whole_are_told_apart(make_by_hand: Any) -> None:
    cells = (other_cell("random", "10101010"), other_cell("filtered", "01010101"))
    whole, yes, no = paired_differences(make_by_hand(cells=cells), "a")[2:5]
    assert whole.interval is not None
    assert (whole.interval.difference, whole.verdict) == (0, "open")
    assert (yes.label, yes.verdict, no.label, no.verdict) == ("yes", "below", "no", "above")
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
    assert [key for key, _ in whole_groups(found)] == [
        ("p", "filtered", "random"), ("p", "filtered_mild", "random_mild"),
        ("q", "filtered", "random"), ("q", "filtered_mild", "random_mild"),
    ]  # fmt: skip
    assert {one.interval for one in found if (one.evaluator, one.train_set) == ("q", "filtered_mild")} == {None}


def test_an_earlier_iteration_without_its_control_has_no_pair(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    cells = (*by_hand.cells, other_cell("filtered_mild", "11111111"))
    assert {one.against for one in paired_differences(make_by_hand(cells=cells), "a")} == {"random"}


def test_parts_stand_beside_each_other(by_hand: BenchmarkData) -> None:
    (table,) = part_tables(paired_differences(by_hand, "a"))
    assert (table.test_set, table.train_set, table.against) == ("odd", "filtered", "random")
    assert table.evaluators == ("p", "q")
    assert [row[0].test_rows for row in table.rows] == [rows for rows, _ in PARTS.values()]
    assert [row[0].evaluator + row[1].evaluator for row in table.rows] == ["pq"] * len(PARTS)
    assert part_tables([one for one in paired_differences(by_hand, "b") if one.evaluator == "q"]) == ()


def test_a_challenge_set_of_one_part_and_natural_sets_have_none(by_hand: BenchmarkData) -> None:
    test, odd = by_hand.test_sets
    assert compared_parts(test) == []
    single = replace(odd, row_ids=odd.row_ids[::2], labels=odd.labels[::2], categories={})
    assert compared_parts(single) == []
    single = replace(single, categories={"kind": np.array(["x", "", "", ""], dtype=object)})
    assert [(part.category, int(part.mask.sum())) for part in compared_parts(single)] == [(None, 1), ("x", 1)]


@pytest.mark.parametrize("rows", [40, 1500])
def test_interval_agrees_with_a_slow_loop(rows: int) -> None:
    rng = np.random.default_rng(rows)
    differences = rng.choice([-1, -2 / 3, 0, 0, 0, 1 / 3, 1], rows)
    found = paired_interval(differences, seed=1, resamples=20_000)
    low, high = slow_interval(differences, 2, 4_000)
    # Two bootstraps' percentiles differ by chance alone: about a tenth of the mean's standard error here.
    tolerance = 0.2 * 100 * differences.std() / np.sqrt(rows)
    assert found.low == pytest.approx(low, abs=tolerance)
    assert found.high == pytest.approx(high, abs=tolerance)
    assert found.difference == pytest.approx(100 * differences.mean())


def test_interval_has_the_percentiles_of_all_resamples() -> None:
    differences = np.array([-1.0, 0.0, 1.0, 1.0])
    means = [100 * np.mean(drawn) for drawn in itertools.product(differences, repeat=4)]
    found = paired_interval(differences, seed=0, resamples=100_000)
    assert (found.low, found.high) == (np.percentile(means, 2.5), np.percentile(means, 97.5)) == (-50, 100)


def test_the_same_seed_gives_the_same_interval_and_another_another() -> None:
    differences = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], 3000)
    assert paired_interval(differences, seed=3) == paired_interval(differences, seed=3)
    assert paired_interval(differences, seed=3) != paired_interval(differences, seed=4)
    assert paired_interval(differences, seed=3) == paired_interval(differences[::-1], seed=3)


@given(st.lists(st.sampled_from([-1.0, -1 / 3, 0.0, 1 / 3, 1.0]), min_size=1, max_size=30))
def test_interval_lies_within_the_differences(rows: list[float]) -> None:
    found = paired_interval(np.array(rows), seed=0)
    assert 100 * min(rows) - 1e-6 <= found.low <= found.high <= 100 * max(rows) + 1e-6


@pytest.mark.parametrize("rows", [[], [0.0, np.nan]])
def test_no_or_not_finite_differences_are_refused(rows: Any) -> None:
    with pytest.raises(InvalidInputError, match="needs finite differences of at least one row"):
        paired_interval(np.array(rows, dtype=float), seed=0)
