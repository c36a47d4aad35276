import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from aflite_assets.data.raw_table.copies import DroppedCopies
from aflite_assets.data.raw_table.table import RawTable
from aflite_assets.errors import DataError

Build = Callable[..., RawTable]
TRAIN = {"text": ["a", "b", "a", "c", "a", "b", "d"], "label": ["no", "yes", "no", "-", "yes", "yes", "no"]}
TEST = {"text": ["a", "e", "e"], "label": ["no", "yes", "yes"]}


def _rows(raw: RawTable) -> dict[str, list[int]]:
    splits = raw.examples.table["split"].to_pylist()
    return {split: raw.examples.row_ids[np.array(splits) == split].tolist() for split in dict.fromkeys(splits)}


def test_copies_stay_unless_they_are_to_be_dropped(build: Build) -> None:
    raw = build({"train": TRAIN, "test": TEST}, label_names=("no", "yes"), unlabelled=("-",))
    assert (len(raw.examples), raw.dropped_copies) == (9, DroppedCopies())


def test_the_first_of_a_splits_copies_stays_and_other_labels_are_counted(build: Build) -> None:
    raw = build({"train": TRAIN, "test": TEST}, label_names=("no", "yes"), unlabelled=("-",), drop_duplicates=True)
    assert _rows(raw) == {"train": [0, 1, 4, 6], "test": [7, 8]}
    assert raw.dropped_copies == DroppedCopies({"train": 2, "test": 1}, {"train": 2})
    assert (raw.labelled_rows, raw.unlabelled_rows) == ({"train": 4, "test": 2}, {"train": 1, "test": 0})


def test_pairs_are_copies_as_a_whole(build: Build) -> None:
    values = {"text": ["a", "a", "a"], "text_pair": ["x", "y", "x"], "label": ["no", "yes", "no"]}
    raw = build({"train": values}, {"text": "text", "text_pair": "text_pair"}, drop_duplicates=True)
    assert _rows(raw) == {"train": [0, 1]}


def test_questions_leave_whole_where_an_answer_stands_in_another_split(build: Build) -> None:
    columns = {"text": "text", "text_pair": "text_pair", "group": "q"}
    train = {
        "text": ["one?"] * 2 + ["two?"] * 2, "text_pair": ["a", "b", "a", "c"], "q": ["1", "1", "2", "2"],
        "label": ["right", "wrong", "wrong", "right"],
    }  # fmt: skip
    test = {"text": ["one?"] * 2, "text_pair": ["b", "d"], "q": ["9", "9"], "label": ["wrong", "right"]}
    names = ("right", "wrong")
    raw = build({"train": train, "test": test}, columns, label_names=names, drop_between_splits=True)
    assert _rows(raw) == {"train": [2, 3], "test": [4, 5]}
    assert raw.dropped_copies.shared_input == 2


def test_feature_vectors_are_copies_by_their_numbers(build: Build) -> None:
    values = {"x": [[1.0, 2.0], [1.0, 2.5], [1.0, 2.0]], "label": [0, 1, 0]}
    raw = build({"train": values}, {"features": "x"}, drop_duplicates=True)
    assert (_rows(raw), raw.dropped_copies.duplicates) == ({"train": [0, 1]}, {"train": 1})


def test_copies_are_gone_before_splits_are_drawn(build: Build) -> None:
    values = {"text": [f"text {row // 2}" for row in range(80)], "label": [row // 2 % 2 for row in range(80)]}
    raw = build({"train": values}, drop_duplicates=True, holdout={"test": 0.5})
    texts = raw.examples.texts()
    assert (raw.labelled_rows, len(set(texts))) == ({"train": 20, "test": 20}, 40)


def test_train_rows_that_another_split_has_are_dropped_whatever_their_labels(build: Build) -> None:
    raw = build({"train": TRAIN, "test": TEST}, label_names=("no", "yes"), unlabelled=("-",), drop_between_splits=True)
    assert _rows(raw) == {"train": [1, 5, 6], "test": [7, 8, 9]}
    assert raw.dropped_copies == DroppedCopies(shared_input=3)


def test_train_rows_of_another_splits_groups_are_dropped_and_counted_once(build: Build) -> None:
    train: dict[str, Any] = {"text": ["a", "b", "c", "d"], "g": [1, 2, 3, 3], "label": [0, 1, 0, 0]}
    test: dict[str, Any] = {"text": ["a", "c"], "g": [1, 4], "label": [0, 1]}
    raw = build({"train": train, "test": test}, {"text": "text", "group": "g"}, drop_between_splits=True)
    assert _rows(raw) == {"train": [1, 3], "test": [4, 5]}
    assert raw.dropped_copies == DroppedCopies(shared_group=1, shared_input=1)


def test_rows_without_a_label_share_nothing(build: Build) -> None:
    test = {"text": ["b", "z"], "label": ["-", "yes"]}
    raw = build({"train": TRAIN, "test": test}, label_names=("no", "yes"), unlabelled=("-",), drop_between_splits=True)
    assert raw.dropped_copies == DroppedCopies()


def test_dropping_every_train_row_is_refused(build: Build) -> None:
    splits = {"train": {"text": ["a", "b"], "label": [0, 1]}, "test": {"text": ["b", "a"], "label": [0, 1]}}
    message = (
        "`between_splits: drop` would drop all 2 train rows, because every train row shares its group or "
        "input with a row of another split; set `between_splits: keep`, or draw a test split with "
        "`holdout`"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        build(splits, drop_between_splits=True)
