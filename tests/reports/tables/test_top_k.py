from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.scores import ranks
from aflite_assets.analysis.scores.accuracy import MissingScore, correct_rows
from aflite_assets.analysis.scores.ranks import gold_ranks, is_ranked, with_ranks
from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.tables.top_k import TOP_5, top_k_tables

NAMES = tuple(f"c{number:02d}" for number in range(13))
DASH = "\N{EN DASH}"
ROWS = 4
SCALE = np.arange(13, 0, -1) / 91
"""Probabilities that fall from class 0 to class 12."""


def natural() -> TestSet:
    labels = np.array([0, 4, 5, 12])
    return TestSet("test", False, np.array([3, 2, 1, 0]), labels, NAMES, {"a": np.array([True, True, False, False])})


def masked() -> TestSet:
    """Classes 1, 3, 5, 7, ... and 0 of the dataset, as classes 0, 1, 2, 3, ... of the set: 11 of 13."""
    own = ("c01", "c03", "c05", "c07", "c08", "c09", "c10", "c11", "c12", "c02", "c04")
    class_map = np.full(13, -1)
    for number, name in enumerate(own):
        class_map[NAMES.index(name)] = number
    labels = np.array([0, 3, 4, 5])
    return TestSet("mask", True, np.arange(4), labels, own, {}, class_map=class_map, collapse="probability")


def cell(train_set: str, seed: int, probabilities: np.ndarray | None, *, predicted: int = 0) -> Cell:
    """The same probabilities for each row of both sets."""
    rows = None if probabilities is None else [probabilities.tolist()] * (2 * ROWS)
    said = pa.table(
        {
            "test_set": ["test"] * ROWS + ["mask"] * ROWS,
            "row_id": [*range(ROWS)] * 2,
            "predicted": [predicted] * (2 * ROWS),
            "probabilities": pa.array(rows or [None] * (2 * ROWS), pa.list_(pa.float32())),
        }
    )
    return Cell("net", train_set, None if train_set == "full" else "a", seed, 9, "done", None, said)


@pytest.fixture
def data(by_hand: BenchmarkData, make_by_hand: Any) -> BenchmarkData:
    cells = (
        cell("full", 0, SCALE),
        cell("full", 1, SCALE[::-1], predicted=12),
        cell("random", 0, np.full(13, 1 / 13)),
        cell("filtered", 0, None),
    )
    return make_by_hand(label_names=NAMES, test_sets=(natural(), masked()), cells=cells, filtered=by_hand.filtered[:1])


def test_ranks_count_the_classes_before_a_rows_own() -> None:
    assert gold_ranks(cell("full", 0, SCALE), natural()).tolist() == [0, 4, 5, 12]  # type: ignore[union-attr]
    assert gold_ranks(cell("full", 0, SCALE[::-1]), natural()).tolist() == [12, 8, 7, 0]  # type: ignore[union-attr]


def test_of_equal_probabilities_the_lowest_class_comes_first() -> None:
    assert gold_ranks(cell("full", 0, np.full(13, 1 / 13)), natural()).tolist() == [0, 4, 5, 12]  # type: ignore[union-attr]


def test_a_class_mask_ranks_its_own_classes_alone() -> None:
    # c01 c02 c03 c04 c05 c07 c08 c09 ... from the likeliest on; gold is c01, c07, c08, c09
    assert gold_ranks(cell("full", 0, SCALE), masked()).tolist() == [0, 5, 6, 7]  # type: ignore[union-attr]


def test_by_label_all_classes_are_ranked_and_any_that_counts_is_right() -> None:
    merged = replace(masked(), collapse="label")
    assert gold_ranks(cell("full", 0, SCALE), merged).tolist() == [1, 7, 8, 9]  # type: ignore[union-attr]
    two = TestSet(
        "mask", True, np.arange(4), np.array([0, 1, 1, 0]), ("low", "high"), {}, class_map=np.arange(13) // 6 % 2
    )
    # low: classes 0 to 5 and 12; high: 6 to 11
    assert gold_ranks(cell("full", 0, SCALE), two).tolist() == [0, 6, 6, 0]  # type: ignore[union-attr]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(13), 50).astype(np.float32)
    labels = rng.integers(0, 13, 50)
    order = rng.permutation(50)
    said = {"test_set": ["test"] * 50, "row_id": order, "predicted": rows[order].argmax(axis=1)}
    table = pa.table({**said, "probabilities": pa.array(rows[order].tolist(), pa.list_(pa.float32()))})
    one = TestSet("test", False, np.arange(50), labels, NAMES, {})
    slow = [sorted(range(13), key=lambda c: (-row[c], c)).index(gold) for row, gold in zip(rows, labels, strict=True)]
    for block in (7, 50, 1000):
        monkeypatch.setattr(ranks, "BLOCK_ROWS", block)
        found = gold_ranks(Cell("net", "full", None, 0, 9, "done", None, table), one)
        assert isinstance(found, np.ndarray)
        assert found.tolist() == slow


def test_ranks_stand_in_for_probabilities() -> None:
    for one in (natural(), masked()):
        before = cell("full", 0, SCALE)
        table = with_ranks(before, one)
        assert table.column_names == ["test_set", "row_id", "predicted", "gold_rank"]
        after = replace(before, predictions=table)
        for function in (gold_ranks, correct_rows):
            was, now = function(before, one), function(after, one)
            assert isinstance(was, np.ndarray)
            assert isinstance(now, np.ndarray)
            assert was.tolist() == now.tolist()


def test_no_probabilities_stay_none() -> None:
    bare = cell("full", 0, None)
    said = MissingScore("no probabilities", "net gives none to add up")
    assert gold_ranks(bare, masked()) == said
    assert gold_ranks(replace(bare, predictions=with_ranks(bare, masked())), masked()) == said
    with pytest.raises(InvalidInputError, match="'net' has no predictions of 'other': not run"):
        with_ranks(bare, replace(natural(), name="other"))


def test_every_cell_of_the_natural_table(data: BenchmarkData, values: Any) -> None:
    table = top_k_tables(data)[0]
    assert [column.plain for column in table.columns[:4]] == [
        "full, top-1 (on full rows, n = 4)", "full, top-5 (on full rows, n = 4)",
        "random, top-1 (a, on full rows, n = 4)", "random, top-5 (a, on full rows, n = 4)",
    ]  # fmt: skip
    # rows of class 0, 4, 5 and 12; seed 0 says 0, 1, 2, ... and seed 1 says 12, 11, ...; by label 2 of 8 against 1 of 2
    why = "no probabilities: net gives none to add up"
    assert values(table)["net",] == [0.25, 0.375, 0.25, 0.5, 0.5, 1.0, 0.5, why, -25, DASH]


def test_every_cell_of_the_masked_table(data: BenchmarkData, values: Any) -> None:
    table = top_k_tables(data)[1]
    assert [column.plain for column in table.columns[::2]] == [
        "full, top-1 (on full rows, n = 4)", "random, top-1 (a, on full rows, n = 4)",
        "filtered, top-1 (a, on full rows, n = 4)", "full minus filtered, top-1 (a, points)",
    ]  # fmt: skip
    # Seed 1, from the likeliest: c12 c11 c10 c09 c08 c07 ...; c09 and c08 are among five, none is first.
    # With equal probabilities the set's own numbers decide: 0, 1, 2, 3, 4 are among five.
    why = "no probabilities: net gives none to add up"
    assert values(table)["net",] == [0.125, (0.25 + 0.5) / 2, 0.25, 0.75, why, why, DASH, DASH]
    assert "only its own classes are ranked" in table.caption


def test_full_minus_filtered_is_beside_the_scores(data: BenchmarkData, values: Any) -> None:
    likely = replace(data, cells=(*data.cells[:3], cell("filtered", 0, SCALE)))
    # test: 2 of 8 and 3 of 8 against 1 of 2 and 2 of 2; mask: 1 of 8 and 3 of 8 against 1 of 4 and 1 of 4
    assert [values(table)["net",][-2:] for table in top_k_tables(likely)] == [[-25, -62.5], [-12.5, 12.5]]
    rows = [row for row in TOP_5.records(likely) if row["train_set"] == "filtered"]
    assert [(row["test_set"], row["tested_on"], row["top"], row["difference"]) for row in rows] == [
        ("test", "filtered", 1, -25), ("test", "filtered", 5, -62.5),
        ("mask", "full", 1, -12.5), ("mask", "full", 5, 12.5),
    ]  # fmt: skip


def test_ten_classes_are_enough() -> None:
    one = natural()
    assert [is_ranked(NAMES[:classes], replace(one, label_names=NAMES)) for classes in (9, 10)] == [False, True]
    assert not is_ranked(NAMES, replace(masked(), label_names=NAMES[:9], class_map=None))


def test_few_classes_or_no_probabilities_have_no_table(by_hand: BenchmarkData, data: BenchmarkData) -> None:
    assert top_k_tables(by_hand) == ()
    assert top_k_tables(replace(data, cells=data.cells[-1:])) == ()
    assert top_k_tables(replace(data, cells=())) == ()
