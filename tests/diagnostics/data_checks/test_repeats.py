import hashlib
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.diagnostics.data_checks.repeats import (
    RepeatCount,
    TrainRepeats,
    input_codes,
    repeats_across_splits,
    repeats_in_train,
)


def examples_of(splits: list[str], **columns: Any) -> Examples:
    count = len(splits)
    table = pa.table(
        {
            "row_id": pa.array(range(100, 100 + count), pa.int64()),
            "split": pa.array(splits, pa.string()),
            "label": pa.array([0] * count, pa.int64()),
            **columns,
        }
    )
    return Examples(table, ("no", "yes"))


def across(examples: Examples) -> RepeatCount:
    return repeats_across_splits(examples, input_codes(examples))


def in_train(examples: Examples) -> TrainRepeats:
    return repeats_in_train(examples, input_codes(examples))


def test_a_pair_repeats_only_as_a_whole() -> None:
    examples = examples_of(
        ["train", "train", "validation", "validation", "test", "test", "test"],
        text=["a", "a b", "a", "a", "a", "a b", "x"],
        text_pair=["b c", "c", "b c", "c", "b c", "c", "y"],
    )
    count = across(examples)
    assert count.rows == 3
    assert count.share == pytest.approx(3 / 5)
    assert count.by_split == {"validation": 1, "test": 2}
    assert count.row_ids == (102, 104, 105)


def test_only_the_first_rows_are_named() -> None:
    count = across(examples_of(["train"] + ["test"] * 30, text=["same"] * 31))
    assert count.rows == 30
    assert count.row_ids == tuple(range(101, 111))


def test_features_repeat_byte_for_byte() -> None:
    features = [[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [1.0, 2.0000002]]
    column = pa.array(features, pa.list_(pa.float32()))
    count = across(examples_of(["train", "train", "test", "test"], features=column))
    assert count.row_ids == (102,)


def test_an_image_repeats_whether_stored_as_bytes_or_as_a_path() -> None:
    sha256 = hashlib.sha256(b"png \x00").hexdigest()
    images = [
        {"bytes": b"png \x00", "path": None, "sha256": None},
        {"bytes": None, "path": "copy.png", "sha256": sha256},
        {"bytes": b"png \x01", "path": None, "sha256": None},
    ]
    count = across(examples_of(["train", "test", "test"], image=pa.array(images, IMAGE_TYPE)))
    assert count.row_ids == (101,)


@pytest.mark.parametrize("splits", [[], ["train", "train"]])
def test_nothing_outside_train(splits: list[str]) -> None:
    count = across(examples_of(splits, text=pa.array(["a"] * len(splits), pa.string())))
    assert (count.rows, count.share, count.by_split) == (0, 0.0, {})


def test_without_a_train_split_nothing_repeats() -> None:
    assert across(examples_of(["test", "test"], text=["a", "a"])).by_split == {"test": 0}


TEXT = st.sampled_from(["", "a", "b", "\x00", "a\x00", "\x1b[31m", "<script>"]) | st.none()


@given(st.lists(st.tuples(st.sampled_from(["train", "dev", "test"]), TEXT, TEXT), max_size=12))
def test_repeats_are_those_found_one_by_one(rows: list[tuple[str, str | None, str | None]]) -> None:
    splits = [row[0] for row in rows]
    columns = {
        name: pa.array([row[place] for row in rows], pa.string()) for place, name in [(1, "text"), (2, "text_pair")]
    }
    train = {row[1:] for row in rows if row[0] == "train"}
    expected = [100 + place for place, row in enumerate(rows) if row[0] != "train" and row[1:] in train]
    count = across(examples_of(splits, **columns))
    assert count.rows == len(expected)
    assert list(count.row_ids) == expected[:10]


def labelled(splits: list[str], labels: list[int], texts: list[str], **columns: Any) -> Examples:
    examples = examples_of(splits, text=texts, **columns)
    position = examples.table.column_names.index("label")
    return Examples(examples.table.set_column(position, "label", pa.array(labels, pa.int64())), examples.label_names)


def test_rows_of_train_that_stand_twice_with_one_label_or_with_two() -> None:
    texts = ["a", "b", "a", "a", "b", "c", "d", "d"]
    examples = labelled(["train"] * 7 + ["test"], [0, 0, 0, 1, 1, 0, 1, 1], texts)
    assert in_train(examples) == TrainRepeats(
        train_rows=7,
        same_label=2,
        same_label_ids=(100, 102),
        conflicting=5,
        conflicting_inputs=2,
        conflicts=((100, 102, 103), (101, 104)),
    )


def test_a_repeat_within_a_group_is_never_trained_on_beside_itself() -> None:
    grouped = labelled(["train"] * 4, [0] * 4, ["a", "a", "b", "b"], group=pa.array([7, 7, 7, 8]))
    assert in_train(grouped).same_label_ids == (102, 103)


def test_only_the_first_conflicts_are_named() -> None:
    texts = [f"t{row // 2}" for row in range(40)]
    found = in_train(labelled(["train"] * 40, [0, 1] * 20, texts))
    assert (found.conflicting, found.conflicting_inputs, found.same_label) == (40, 20, 0)
    assert found.conflicts == tuple((100 + 2 * number, 101 + 2 * number) for number in range(5))


@pytest.mark.parametrize("splits", [[], ["test", "test"], ["train"]])
def test_nothing_repeats_where_train_has_no_two_rows(splits: list[str]) -> None:
    found = in_train(labelled(splits, [0] * len(splits), ["a"] * len(splits)))
    assert found == TrainRepeats(splits.count("train"), 0, (), 0, 0, ())


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([0, 1])), max_size=8))
def test_train_repeats_are_those_found_one_by_one(rows: list[tuple[str, int]]) -> None:
    texts, labels = [row[0] for row in rows], [row[1] for row in rows]
    found = in_train(labelled(["train"] * len(rows), labels, texts))
    assert found.same_label == sum(rows.count(row) > 1 for row in rows)
    assert found.conflicting == sum((text, 1 - label) in rows for text, label in rows)


def test_an_image_whose_file_was_not_hashed_is_read(tmp_path: Any) -> None:
    images = []
    for name, content in (("a.png", b"one"), ("b.png", b"one"), ("c.png", b"two")):
        (tmp_path / name).write_bytes(content)
        images.append({"bytes": None, "path": str(tmp_path / name), "sha256": ""})
    codes = input_codes(examples_of(["train"] * 3, image=pa.array(images, IMAGE_TYPE)))
    assert codes.tolist() == [0, 0, 1]


def test_repeats_within_train_or_within_test_are_not_counted() -> None:
    examples = examples_of(["train", "train", "test", "test"], text=["a", "a", "b", "b"])
    count = across(examples)
    assert (count.rows, count.share, count.by_split, count.row_ids) == (0, 0.0, {"test": 0}, ())
