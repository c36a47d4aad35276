from typing import Any

import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.kept_vs_removed_annotators import annotator_shares
from aflite_assets.errors import DataError

NAMES = ("no", "yes", "maybe")


def examples_of(labels: list[int], annotators: list[list[int] | None]) -> Examples:
    return Examples(
        pa.table(
            {
                "row_id": pa.array(range(len(labels)), pa.int64()),
                "label": pa.array(labels, pa.int64()),
                "annotator_labels": pa.array(annotators, pa.list_(pa.int64())),
                "text": ["t"] * len(labels),
            }
        ),
        NAMES,
    )


def rows_of(row_ids: list[int], splits: list[str], kept: list[bool]) -> pa.Table:
    return pa.table({"row_id": pa.array(row_ids, pa.int64()), "split": splits, "kept": pa.array(kept, pa.bool_())})


def test_by_hand() -> None:
    examples = examples_of(
        [0, 0, 1, 1, 2, 2, 0],
        [[0, 0, 0, 1], [2, 2], [1], [1, 1, 1], [], None, [0]],
    )
    rows = rows_of([6, 5, 4, 3, 2, 1, 0], ["test"] + ["train"] * 6, [False, True, True, False, False, True, True])
    assert annotator_shares(rows, examples).to_pylist() == [
        {
            "split": "test",
            "kept_rows": 0,
            "removed_rows": 1,
            "kept_accuracy": None,
            "removed_accuracy": 1.0,
            "kept_rows_of_several": 0,
            "removed_rows_of_several": 0,
            "kept_unanimous": None,
            "removed_unanimous": None,
        },
        {
            "split": "train",
            "kept_rows": 2,  # rows 0 and 1; 4 and 5 have no annotator
            "removed_rows": 2,  # rows 2 and 3
            "kept_accuracy": (3 / 4 + 0) / 2,
            "removed_accuracy": 1.0,
            "kept_rows_of_several": 2,
            "removed_rows_of_several": 1,
            "kept_unanimous": 1 / 2,
            "removed_unanimous": 1.0,
        },
    ]


@pytest.mark.parametrize("annotators", [[[], [], []], [None, None, None]])
def test_rows_without_annotators_give_no_table(annotators: Any) -> None:
    rows = rows_of([0, 1, 2], ["train"] * 3, [True, False, True])
    table = annotator_shares(rows, examples_of([0, 1, 2], annotators))
    assert table.num_rows == 0
    assert table.column_names[:5] == ["split", "kept_rows", "removed_rows", "kept_accuracy", "removed_accuracy"]


def test_a_dataset_without_the_column_gives_no_table() -> None:
    examples = Examples(pa.table({"row_id": [0], "label": [0], "text": ["t"]}), NAMES)
    assert annotator_shares(rows_of([0], ["train"], [True]), examples).num_rows == 0


def test_a_split_without_annotators_is_left_out() -> None:
    rows = rows_of([0, 1], ["train", "test"], [True, True])
    assert annotator_shares(rows, examples_of([0, 1], [[], [1, 1]]))["split"].to_pylist() == ["test"]


def test_rows_of_another_version_are_refused() -> None:
    with pytest.raises(DataError, match="1 of 1 row ids are not in this table"):
        annotator_shares(rows_of([7], ["train"], [True]), examples_of([0], [[0]]))
