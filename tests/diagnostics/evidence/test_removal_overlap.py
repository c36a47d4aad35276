from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.diagnostics.evidence.removal_overlap import expected_jaccard, removal_overlap


def rows_of(
    row_ids: list[int], kept: list[bool], scores: list[float | None], splits: list[str] | None = None
) -> pa.Table:
    return pa.table(
        {
            "row_id": pa.array(row_ids, pa.int64()),
            "split": splits or ["train"] * len(row_ids),
            "kept": pa.array(kept, pa.bool_()),
            "predictability": pa.array(scores, pa.float32()),
        }
    )


def test_by_hand() -> None:
    first = rows_of(
        [1, 2, 3, 4, 5, 9],
        [False, False, False, True, True, False],
        [0.9, 0.8, 0.7, 0.2, None, 1.0],
        ["train"] * 5 + ["test"],
    )
    # In another order, with a row of its own, without one of the first's.
    second = rows_of([5, 4, 3, 2, 7], [True, False, False, True, False], [0.5, 0.9, 0.6, 0.1, 0.3])
    (row,) = removal_overlap({"one": first, "two": second}).to_pylist()
    assert row == {
        "first": "one",
        "second": "two",
        "common_rows": 4,  # 2, 3, 4, 5
        "first_removed": 2,  # 2, 3
        "second_removed": 2,  # 3, 4
        "both_removed": 1,
        "jaccard": 1 / 3,
        "expected_jaccard": pytest.approx((1 * 0 + 4 / 3 + 1) / 6),  # 0, 1 or 2 shared in 1, 4 and 1 of 6 draws
        "scored_rows": 3,  # 2, 3, 4: 0.8, 0.7, 0.2 against 0.1, 0.6, 0.9
        "kendall_tau": pytest.approx(-1.0),
    }


def test_tau_counts_ties_as_kendall_does() -> None:
    kept = [True] * 4
    first = rows_of([1, 2, 3, 4], kept, [0.1, 0.2, 0.2, 0.3])
    second = rows_of([1, 2, 3, 4], kept, [0.1, 0.3, 0.2, 0.2])
    (row,) = removal_overlap({"one": first, "two": second}).to_pylist()
    # Of six pairs one is tied in each: 3 concordant (1-2, 1-3, 1-4), 1 discordant (2-4), so 2 / sqrt(5 * 5).
    assert row["kendall_tau"] == pytest.approx(2 / 5)
    assert (row["both_removed"], row["jaccard"], row["expected_jaccard"]) == (0, None, None)


def test_the_same_set_and_sets_apart() -> None:
    scores: list[float | None] = [1.0, 1.0, 0.0, 0.0]
    one = rows_of([1, 2, 3, 4], [False, False, True, True], scores)
    two = rows_of([1, 2, 3, 4], [True, True, False, False], scores[::-1])
    table = removal_overlap({"a": one, "b": two, "c": one}).to_pylist()
    assert [(row["first"], row["second"], row["jaccard"], row["kendall_tau"]) for row in table] == [
        ("a", "b", 0.0, pytest.approx(-1)),
        ("a", "c", 1.0, pytest.approx(1)),
        ("b", "c", 0.0, pytest.approx(-1)),
    ]


def test_equal_scores_and_no_common_rows_have_no_order() -> None:
    flat = rows_of([1, 2], [True, False], [1.0, 1.0])
    table = removal_overlap({"a": flat, "b": flat, "c": rows_of([8], [False], [0.5])}).to_pylist()
    assert [row["kendall_tau"] for row in table] == [None] * 3
    assert [row["common_rows"] for row in table] == [2, 0, 0]
    assert [row["jaccard"] for row in table] == [1.0, None, None]


def test_one_representation_has_nothing_to_overlap_with() -> None:
    table = removal_overlap({"a": rows_of([1], [True], [0.5])})
    assert (table.num_rows, table.column_names[:2]) == (0, ["first", "second"])


@pytest.mark.parametrize(("rows", "first", "second"), [(5, 2, 3), (6, 4, 4), (6, 0, 3), (4, 4, 2), (3, 3, 3)])
def test_chance_is_the_mean_over_all_draws(rows: int, first: int, second: int) -> None:
    pairs = product(combinations(range(rows), first), combinations(range(rows), second))
    overlaps = [len({*one} & {*two}) / len({*one} | {*two}) for one, two in pairs]
    assert expected_jaccard(rows, first, second) == pytest.approx(np.mean(overlaps))


def test_chance_of_large_sets_is_near_that_of_the_mean_shared_rows() -> None:
    shared = 600_000 * 400_000 / 1_000_000
    assert expected_jaccard(1_000_000, 600_000, 400_000) == pytest.approx(shared / (1_000_000 - shared), rel=1e-5)
