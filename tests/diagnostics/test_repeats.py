import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.diagnostics import RepeatedText, repeated_texts, repeats_across_splits
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.images import IMAGE_TYPE


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


def test_a_pair_repeats_only_as_a_whole() -> None:
    examples = examples_of(
        ["train", "train", "validation", "validation", "test", "test", "test"],
        text=["a", "a b", "a", "a", "a", "a b", "x"],
        text_pair=["b c", "c", "b c", "c", "b c", "c", "y"],
    )
    count = repeats_across_splits(examples)
    assert count.rows == 3
    assert count.share == pytest.approx(3 / 5)
    assert count.by_split == {"validation": 1, "test": 2}
    assert count.row_ids == (102, 104, 105)


def test_repeats_within_train_or_within_test_are_not_counted() -> None:
    examples = examples_of(["train", "train", "test", "test"], text=["a", "a", "b", "b"])
    count = repeats_across_splits(examples)
    assert (count.rows, count.share, count.by_split, count.row_ids) == (0, 0.0, {"test": 0}, ())


def test_only_the_first_rows_are_named() -> None:
    count = repeats_across_splits(examples_of(["train"] + ["test"] * 30, text=["same"] * 31))
    assert count.rows == 30
    assert count.row_ids == tuple(range(101, 111))


def test_features_repeat_byte_for_byte() -> None:
    features = [[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [1.0, 2.0000002]]
    column = pa.array(features, pa.list_(pa.float32()))
    count = repeats_across_splits(examples_of(["train", "train", "test", "test"], features=column))
    assert count.row_ids == (102,)


def test_an_image_repeats_whether_stored_as_bytes_or_as_a_path() -> None:
    sha256 = hashlib.sha256(b"png \x00").hexdigest()
    images = [
        {"bytes": b"png \x00", "path": None, "sha256": None},
        {"bytes": None, "path": "copy.png", "sha256": sha256},
        {"bytes": b"png \x01", "path": None, "sha256": None},
    ]
    count = repeats_across_splits(examples_of(["train", "test", "test"], image=pa.array(images, IMAGE_TYPE)))
    assert count.row_ids == (101,)


@pytest.mark.parametrize("splits", [[], ["train", "train"]])
def test_nothing_outside_train(splits: list[str]) -> None:
    count = repeats_across_splits(examples_of(splits, text=pa.array(["a"] * len(splits), pa.string())))
    assert (count.rows, count.share, count.by_split) == (0, 0.0, {})


def test_without_a_train_split_nothing_repeats() -> None:
    assert repeats_across_splits(examples_of(["test", "test"], text=["a", "a"])).by_split == {"test": 0}


TEXT = st.sampled_from(["", "a", "b", "\x00", "a\x00", "\x1b[31m", "<script>"]) | st.none()


@given(st.lists(st.tuples(st.sampled_from(["train", "dev", "test"]), TEXT, TEXT), max_size=12))
def test_repeats_are_those_found_one_by_one(rows: list[tuple[str, str | None, str | None]]) -> None:
    splits = [row[0] for row in rows]
    columns = {
        name: pa.array([row[place] for row in rows], pa.string()) for place, name in [(1, "text"), (2, "text_pair")]
    }
    train = {row[1:] for row in rows if row[0] == "train"}
    expected = [100 + place for place, row in enumerate(rows) if row[0] != "train" and row[1:] in train]
    count = repeats_across_splits(examples_of(splits, **columns))
    assert count.rows == len(expected)
    assert list(count.row_ids) == expected[:10]


def test_a_premise_shared_by_train_rows_is_found() -> None:
    examples = examples_of(
        ["train"] * 6 + ["test"] * 2,
        text=["p", "p", "p", "q", "q", "r", "s", "s"],
        text_pair=["a", "b", "c", "d", "e", "a", "t", "t"],
    )
    assert repeated_texts(examples) == (
        RepeatedText(column="text", rows=5, share=5 / 6, example="p", example_rows=3),
        RepeatedText(column="text_pair", rows=2, share=2 / 6, example="a", example_rows=2),
    )


def test_rows_without_a_text_share_none() -> None:
    columns = {"text": ["p", "q", "r"], "text_pair": pa.nulls(3, pa.string())}
    assert repeated_texts(examples_of(["train"] * 3, **columns)) == ()


def test_a_long_hostile_example_is_cut() -> None:
    text = "<b>\x00\x1b" + "x" * 500
    (found,) = repeated_texts(examples_of(["train"] * 2, text=[text, text]))
    assert found.example == text[:200]


def test_rows_of_features_have_no_texts() -> None:
    column = pa.array(np.zeros((2, 3)).tolist(), pa.list_(pa.float32()))
    assert repeated_texts(examples_of(["train"] * 2, features=column)) == ()
