from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.kept_vs_removed import (
    annotator_shares,
    attribute_shares,
    label_shares,
    mean_scores,
    removed_by_class,
    text_lengths,
)
from aflite_assets.errors import DataError, InvalidInputError

KEPT = [True, False, False, False, True, True]

NAMES = ("no", "yes", "maybe")


def rows_of(kept: Sequence[bool | None] = KEPT, **columns: Any) -> pa.Table:
    count = len(kept)
    table = {
        "row_id": pa.array(range(10, 10 + count), pa.int64()),
        "split": ["train"] * (count - 1) + ["test"],
        "label": pa.array([0, 0, 0, 1, 1, 1][:count], pa.int64()),
        "kept": pa.array(kept, pa.bool_()),
        "removed_in_iteration": pa.array([None if each else 0 for each in kept], pa.int64()),
        "predictability": pa.array([0.5, 1.0, 0.75, 1.0, None, None][:count], pa.float32()),
        "label_probability": pa.array([0.25, 0.5, 1.0, 0.75, float("nan"), 0.125][:count], pa.float64()),
    }
    return pa.table(table | columns)


def examples_of(**columns: Any) -> Examples:
    """More rows than the filtered set has, in another order: the warm-up rows come first."""
    table = {
        "row_id": [8, 9, 15, 14, 13, 12, 11, 10],
        "split": ["train"] * 8,
        "label": [0] * 8,
        **columns,
    }
    return Examples(pa.table(table), ("no", "yes"))


def records(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in table.to_pylist()]


COUNTS = ("kept_rows", "removed_rows", "kept_share", "removed_share", "share_kept")


def test_label_shares_by_hand() -> None:
    table = label_shares(rows_of(), label_names=("no", "yes"))
    assert records(table, "split", "label", "label_name", *COUNTS) == [
        ("train", 0, "no", 1, 2, 1 / 2, 2 / 3, 1 / 3),
        ("train", 1, "yes", 1, 1, 1 / 2, 1 / 3, 1 / 2),
        ("test", 0, "no", 0, 0, 0.0, None, None),
        ("test", 1, "yes", 1, 0, 1.0, None, 1.0),
    ]


def test_a_planted_attribute_shows_in_what_was_removed() -> None:
    bias = [None, None, None, "flipped", "biased", "biased", "biased", "flipped"]
    examples = examples_of(**{"attribute.bias": bias, "text": ["t"] * 8})
    table = attribute_shares(rows_of(), examples)
    assert records(table, "split", "attribute", "value", "distinct_values", *COUNTS) == [
        ("train", "bias", "biased", 2, 0, 3, 0.0, 1.0, 0.0),
        ("train", "bias", "flipped", 2, 2, 0, 1.0, 0.0, 1.0),
        ("test", "bias", None, 1, 1, 0, 1.0, None, 1.0),
    ]


def test_attributes_of_any_type_and_only_the_most_frequent_values() -> None:
    examples = examples_of(
        **{"attribute.year": [0, 0, 0, 1, 1, 1, 2, 3], "attribute.odd": ["\x00<script>"] * 8, "text": ["t"] * 8}
    )
    table = attribute_shares(rows_of(), examples, most_values=1)
    assert records(table, "split", "attribute", "value", "distinct_values", "kept_rows", "removed_rows") == [
        ("train", "year", "1", 3, 1, 2),
        ("test", "year", "0", 1, 1, 0),
        ("train", "odd", "\x00<script>", 1, 2, 3),
        ("test", "odd", "\x00<script>", 1, 1, 0),
    ]


def test_no_attributes_no_rows() -> None:
    table = attribute_shares(rows_of(), examples_of(text=["t"] * 8))
    assert table.num_rows == 0
    assert table.column_names == ["split", "attribute", "value", "distinct_values", *COUNTS]


def test_text_lengths_by_hand() -> None:
    examples = examples_of(
        text=["", "", "one", "", "don't", "zwölf Äpfel\x00fallen", "_a 1", "a b  c."],
        text_pair=[None, None, None, "x y", None, None, None, None],
    )
    table = text_lengths(rows_of(), examples)
    names = ("split", "column", "label_name", "kept_mean", "removed_mean", "kept_rows", "removed_rows")
    words = table.filter(pc.equal(table["measure"], "words"))
    assert records(words, *names) == [
        ("train", "text", None, 1.5, (2 + 3 + 2) / 3, 2, 3),
        ("train", "text", "no", 3.0, 2.5, 1, 2),
        ("train", "text", "yes", 0.0, 2.0, 1, 1),
        ("test", "text", None, 1.0, None, 1, 0),
        ("test", "text", "no", None, None, 0, 0),
        ("test", "text", "yes", 1.0, None, 1, 0),
        ("train", "text_pair", None, 2.0, None, 1, 0),
        ("train", "text_pair", "no", None, None, 0, 0),
        ("train", "text_pair", "yes", 2.0, None, 1, 0),
        *(("test", "text_pair", name, None, None, 0, 0) for name in (None, "no", "yes")),
    ]
    characters = table.filter(pc.equal(table["measure"], "characters"))
    assert records(characters, *names)[0] == ("train", "text", None, (7 + 0) / 2, (4 + 18 + 5) / 3, 2, 3)
    assert table.num_rows == 2 * 2 * 2 * 3


def test_removed_rows_by_iteration_and_class_with_the_easiest() -> None:
    kept = [False] * 5 + [True, False]
    rows = pa.table(
        {
            "row_id": pa.array(range(10, 17), pa.int64()),
            "split": ["train"] * 6 + ["test"],
            "label": pa.array([0, 0, 0, 0, 1, 1, 1], pa.int64()),
            "kept": kept,
            "removed_in_iteration": pa.array([0, 0, 0, 0, 1, None, 0], pa.int64()),
            "predictability": pa.array([0.9, 1.0, 1.0, 1.0, 0.8, 0.1, 1.0], pa.float32()),
            "label_probability": pa.array([0.99, 0.6, 0.7, 0.6, None, 0.2, 1.0], pa.float64()),
        }
    )
    texts = [f"text  {number}" + " of many words" * (8 if number == 12 else 0) for number in range(10, 17)]
    raw = Examples(pa.table({"row_id": range(10, 17), "label": [0] * 7, "text": texts}), ("no", "yes"))
    table = removed_by_class(rows, raw)
    assert records(table, "iteration", "label_name", "class_rows", "removed_rows", "removed_share") == [
        (0, "no", 4, 4, 1.0),
        (0, "yes", 2, 0, 0.0),
        (1, "no", 0, 0, None),
        (1, "yes", 2, 1, 0.5),
    ]
    first, *_, last = table["examples"].to_pylist()
    longest, second, third = first.split(" | ")
    assert (len(longest), second, third) == (60, "text 11", "text 13")
    assert longest.startswith("text 12 of many words")
    assert last == "text 14"
    bare = Examples(raw.table.drop_columns(["text"]), raw.label_names)
    assert removed_by_class(rows, bare)["examples"].to_pylist() == ["row 12 | row 11 | row 13", "", "", "row 14"]


def test_mean_scores_leave_out_rows_without_a_score() -> None:
    names = ("split", "score", "kept_mean", "removed_mean", "kept_rows", "removed_rows")
    assert records(mean_scores(rows_of()), *names) == [
        ("train", "predictability", 0.5, pytest.approx(2.75 / 3), 1, 3),
        ("train", "label_probability", 0.25, 0.75, 1, 3),
        ("test", "predictability", None, None, 0, 0),
        ("test", "label_probability", 0.125, None, 1, 0),
    ]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=30))
def test_shares_add_up(drawn: list[tuple[bool, int]]) -> None:
    rows = pa.table(
        {
            "split": ["train"] * len(drawn),
            "label": pa.array([label for _, label in drawn], pa.int64()),
            "kept": pa.array([kept for kept, _ in drawn]),
        }
    )
    table = label_shares(rows, label_names=("a", "b", "c"))
    kept, removed, kept_share, removed_share, _ = (table[name].to_pylist() for name in COUNTS)
    assert sum(kept) + sum(removed) == len(drawn)
    assert sum(kept) == sum(each for each, _ in drawn)
    for total, shares in ((sum(kept), kept_share), (sum(removed), removed_share)):
        assert shares == [None] * 3 if not total else sum(shares) == pytest.approx(1)


def test_rows_that_are_neither_kept_nor_removed_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="`kept` is null in 1 of 3 rows"):
        label_shares(rows_of([True, None, False]), label_names=("no", "yes"))


def test_rows_of_another_version_are_refused() -> None:
    rows = rows_of(row_id=pa.array(range(500, 506)))
    with pytest.raises(DataError, match="6 of 6 row ids are not in this table"):
        text_lengths(rows, examples_of(text=["t"] * 8))


def annotated(labels: list[int], annotators: list[list[int] | None]) -> Examples:
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


def sides(row_ids: list[int], splits: list[str], kept: list[bool]) -> pa.Table:
    return pa.table({"row_id": pa.array(row_ids, pa.int64()), "split": splits, "kept": pa.array(kept, pa.bool_())})


def test_by_hand() -> None:
    examples = annotated(
        [0, 0, 1, 1, 2, 2, 0],
        [[0, 0, 0, 1], [2, 2], [1], [1, 1, 1], [], None, [0]],
    )
    rows = sides([6, 5, 4, 3, 2, 1, 0], ["test"] + ["train"] * 6, [False, True, True, False, False, True, True])
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
    rows = sides([0, 1, 2], ["train"] * 3, [True, False, True])
    table = annotator_shares(rows, annotated([0, 1, 2], annotators))
    assert table.num_rows == 0
    assert table.column_names[:5] == ["split", "kept_rows", "removed_rows", "kept_accuracy", "removed_accuracy"]


def test_a_dataset_without_the_column_gives_no_table() -> None:
    examples = Examples(pa.table({"row_id": [0], "label": [0], "text": ["t"]}), NAMES)
    assert annotator_shares(sides([0], ["train"], [True]), examples).num_rows == 0


def test_a_split_without_annotators_is_left_out() -> None:
    rows = sides([0, 1], ["train", "test"], [True, True])
    assert annotator_shares(rows, annotated([0, 1], [[], [1, 1]]))["split"].to_pylist() == ["test"]


def test_annotators_of_another_version_are_refused() -> None:
    with pytest.raises(DataError, match="1 of 1 row ids are not in this table"):
        annotator_shares(sides([7], ["train"], [True]), annotated([0], [[0]]))
