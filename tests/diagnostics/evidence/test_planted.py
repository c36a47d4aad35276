from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.planted import planted_by_iteration, planted_removed
from aflite_assets.errors import DataError, InvalidInputError

REMOVED_IN = [0, 0, 1, 1, None, None, None, 0, 1, None]
MARKS = ["right", "right", "right", "none", "right", "wrong", None, "right", "wrong", "none"]
SPLITS = ["train"] * 7 + ["test"] * 3


def rows_of(removed_in: Sequence[int | None] = REMOVED_IN, splits: Sequence[str] = SPLITS) -> pa.Table:
    return pa.table(
        {
            "row_id": pa.array(range(20, 20 + len(removed_in)), pa.int64()),
            "split": list(splits),
            "kept": [one is None for one in removed_in],
            "removed_in_iteration": pa.array(removed_in, pa.int64()),
        }
    )


def examples_of(marks: Sequence[str | None] = MARKS) -> Examples:
    """In another order than the filtered set's rows, with rows that it lacks."""
    ids = [*range(20, 20 + len(marks))]
    table = {
        "row_id": pa.array([7, *reversed(ids)], pa.int64()),
        "label": pa.array([0] * (len(ids) + 1), pa.int64()),
        "text": ["t"] * (len(ids) + 1),
        "attribute.mark": pa.array(["right", *reversed(marks)], pa.string()),
    }
    return Examples(pa.table(table), ("no", "yes"))


def test_precision_and_recall_by_hand() -> None:
    train, test = planted_removed(rows_of(), examples_of(), {"mark": ("right",)}).to_pylist()
    # Train: 7 rows, 4 right; removed are rows 0 to 3, of which 3 are right.
    assert train == {
        "split": "train",
        "attribute": "mark",
        "values": "right",
        "rows": 7,
        "planted_rows": 4,
        "removed_rows": 4,
        "removed_planted_rows": 3,
        "precision": 3 / 4,
        "precision_by_chance": 4 / 7,
        "recall": 3 / 4,
        "recall_by_chance": 4 / 7,
    }
    # Test: one of three is right; removed are that one and a wrong one.
    assert (test["precision"], test["precision_by_chance"]) == (1 / 2, 1 / 3)
    assert (test["recall"], test["recall_by_chance"]) == (1.0, 2 / 3)


def test_several_values_count_as_planted() -> None:
    train = planted_removed(rows_of(), examples_of(), {"mark": ("right", "wrong")}).to_pylist()[0]
    assert (train["values"], train["planted_rows"], train["removed_planted_rows"]) == ("right, wrong", 5, 3)


def test_iterations_by_hand() -> None:
    first, second = planted_by_iteration(rows_of(), examples_of(), {"mark": ("right",)}).to_pylist()
    # The first sees all seven train rows and takes two right ones; the second sees five, two of them right.
    assert (first["iteration"], first["rows"], first["planted_rows"], first["removed_rows"]) == (0, 7, 4, 2)
    assert (first["precision"], first["precision_by_chance"], first["recall"]) == (1.0, 4 / 7, 1 / 2)
    assert (second["iteration"], second["rows"], second["planted_rows"], second["removed_rows"]) == (1, 5, 2, 2)
    assert (second["precision"], second["precision_by_chance"]) == (1 / 2, 2 / 5)
    assert (second["recall"], second["recall_by_chance"]) == (1 / 2, 2 / 5)


def test_shares_of_nothing_are_null() -> None:
    kept = rows_of([None] * 10)
    train = planted_removed(kept, examples_of(), {"mark": ("right",)}).to_pylist()[0]
    assert (train["precision"], train["recall"]) == (None, 0.0)
    assert planted_by_iteration(kept, examples_of(), {"mark": ("right",)}).num_rows == 0
    train = planted_removed(rows_of(), examples_of(), {"mark": ("no such value",)}).to_pylist()[0]
    assert (train["precision"], train["precision_by_chance"], train["recall"]) == (0.0, 0.0, None)
    assert planted_removed(rows_of(), examples_of(), {}).num_rows == 0


def test_an_attribute_that_the_rows_lack_is_named() -> None:
    with pytest.raises(
        InvalidInputError, match=r"names the attribute 'cue', but the rows have the attributes \['mark'\]"
    ):
        planted_removed(rows_of(), examples_of(), {"cue": ("right",)})


@given(st.lists(st.tuples(st.sampled_from(["right", "none"]), st.none() | st.integers(0, 3)), min_size=1, max_size=30))
def test_iterations_add_up_to_the_whole(drawn: list[tuple[str, int | None]]) -> None:
    rows = rows_of([removed for _, removed in drawn], ["train"] * len(drawn))
    examples = examples_of([mark for mark, _ in drawn])
    planted: dict[str, Any] = {"mark": ("right",)}
    (whole,) = planted_removed(rows, examples, planted).to_pylist()
    parts = planted_by_iteration(rows, examples, planted).to_pylist()
    for column in ("removed_rows", "removed_planted_rows"):
        assert sum(part[column] for part in parts) == whole[column]


def test_rows_of_another_version_are_refused() -> None:
    with pytest.raises(DataError, match="1 of 11 row ids are not in this table"):
        planted_removed(rows_of([*REMOVED_IN, 0], [*SPLITS, "test"]), examples_of(), {"mark": ("right",)})
