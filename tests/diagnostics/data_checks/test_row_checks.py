from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.raw_table.decodable_images import UndecodableImages
from aflite_assets.diagnostics.data_checks import row_checks
from aflite_assets.diagnostics.data_checks.context import CheckContext, SourceFacts

Data = Callable[..., CheckContext]


def texts(rows: int) -> list[str]:
    return [f"text {row}" for row in range(rows)]


def test_ids_that_repeat_are_counted(data: Data) -> None:
    fine = data(["train"] * 3, [0, 1, 0], text=texts(3))
    assert row_checks.row_ids_unique(fine).numbers == {"rows": 3, "ids": 3}
    table = fine.examples.table.set_column(0, "row_id", pa.array([1, 2, 1]))
    outcome = row_checks.row_ids_unique(CheckContext(Examples(table, ("no", "yes"))))
    assert (outcome.passed, outcome.numbers) == (False, {"rows": 3, "ids": 2})
    assert "materialise `raw_dataset` again" in outcome.what_to_do


@pytest.mark.parametrize(
    ("labels", "splits", "numbers"),
    [
        ([0, 2, -1], ["train"] * 3, {"unknown_labels": 2, "classes": 2, "classes_in_train": 3}),
        ([1, 1, 0], ["train", "train", "test"], {"unknown_labels": 0, "classes": 2, "classes_in_train": 1}),
        ([0], ["train"], {"unknown_labels": 0, "classes": 2, "classes_in_train": 1}),
    ],
)
def test_unknown_labels_and_a_train_split_of_one_class(
    data: Data, labels: list[int], splits: list[str], numbers: dict[str, int]
) -> None:
    outcome = row_checks.labels_known(data(splits, labels, text=texts(len(labels))))
    assert (outcome.passed, outcome.numbers) == (False, numbers)


def test_known_labels_pass(data: Data) -> None:
    outcome = row_checks.labels_known(data(["train"] * 2, [0, 1], text=texts(2)))
    assert (outcome.passed, outcome.what_to_do) == (True, "")


def test_rows_dropped_for_want_of_a_label(make_examples: Callable[..., Examples]) -> None:
    examples = make_examples(["train"], [0], text=["a"])
    outcome = row_checks.all_rows_labelled(CheckContext(examples, {"train": 5, "test": 0}))
    assert (outcome.passed, outcome.numbers) == (False, {"dropped": 5, "train.dropped": 5, "test.dropped": 0})
    assert "add labels to these rows" in outcome.what_to_do
    assert outcome.found == "5 rows dropped: 5 of train"
    assert row_checks.all_rows_labelled(CheckContext(examples, {"train": 0})).passed


def test_images_that_do_not_decode_are_named(make_examples: Callable[..., Examples]) -> None:
    image = pa.array([{"bytes": b"x", "path": None, "sha256": None}], IMAGE_TYPE)
    examples = make_examples(["train"], [0], image=image)
    assert row_checks.images_decode(CheckContext(examples)).numbers == {"dropped": 0}
    dropped = {"test": UndecodableImages(2, 0.25, (4, 9), ("cat/1\n.png", "cat/2.png"))}
    outcome = row_checks.images_decode(CheckContext(examples, {}, dropped))
    assert not outcome.passed
    assert outcome.numbers == {
        "dropped": 2,
        "test.dropped": 2,
        "test.share": 0.25,
        "test.row_ids": "4, 9",
        "test.source_ids": r"'cat/1\n.png', 'cat/2.png'",
    }
    assert "repair these images" in outcome.what_to_do
    assert outcome.found == "2 rows (25.0 %) of test: row ids 4, 9"
    of_texts = CheckContext(make_examples(["train"], [0], text=["a"]))
    assert row_checks.images_decode(of_texts).found == "not applicable: images only"


def test_rows_of_train_in_a_test_split(data: Data) -> None:
    outcome = row_checks.no_repeats_across_splits(
        data(["train", "train", "test", "test", "dev"], [0, 1, 0, 0, 1], text=["a", "b", "a", "c", "d"])
    )
    assert not outcome.passed
    assert outcome.numbers == {
        "rows": 1,
        "share": pytest.approx(1 / 3),
        "test.rows": 1,
        "dev.rows": 0,
        "row_ids": "102",
    }
    assert outcome.found == "1 row (33.3 %) outside train, 1 of test: row id 102"
    assert outcome.what_to_do == (
        "set `between_splits: drop`, which drops 1 of 2 train rows; or remove the repeats from the test split, or "
        "expect its accuracy to be too high"
    )
    outcome = row_checks.no_repeats_across_splits(data(["train", "test"], [0, 1], text=["a", "b"]))
    assert (outcome.passed, outcome.numbers) == (True, {"rows": 0, "share": 0.0, "test.rows": 0})


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"drop_between_splits": True}, "remove the repeats from the test split"),
        ({"drawn_splits": frozenset({"dev"})}, "set `between_splits: drop`"),
        (
            {"drop_between_splits": True, "drawn_splits": frozenset({"test"})},
            "set `drop_duplicates: true` (`holdout` draws 'test' from train, so one of two copies was drawn); or",
        ),
        (
            {"drop_duplicates": True, "drawn_splits": frozenset({"test"})},
            "correct the labels of the copies in the source: `holdout` draws 'test' from train, and `drop_duplicates`",
        ),
    ],
)
def test_settings_that_are_made_are_not_advised(data: Data, settings: dict[str, Any], advice: str) -> None:
    given = data(["train", "train", "test", "dev"], [0, 1, 0, 1], text=["a", "b", "a", "d"])
    outcome = row_checks.no_repeats_across_splits(replace(given, source=SourceFacts(**settings)))
    assert outcome.what_to_do.startswith(advice)
    assert "between_splits" not in outcome.what_to_do or not settings.get("drop_between_splits")


def test_groups_and_copies_are_not_advised_what_is_set(data: Data) -> None:
    given = data(["train"] * 3 + ["test"], [0, 0, 1, 0], text=["a", "a", "b", "c"], group=[1, 2, 3, 1])
    done = replace(given, source=SourceFacts(drop_duplicates=True, drop_between_splits=True))
    assert row_checks.no_groups_across_splits(given).found == "1 group with 1 of train, 1 of test"
    assert row_checks.no_groups_across_splits(done).what_to_do.startswith(
        "draw the test split from train with `holdout`"
    )
    assert row_checks.few_repeats_in_train(done).what_to_do.startswith("set `columns.group` to a column")


def test_groups_of_train_in_another_split(data: Data) -> None:
    splits = ["train", "train", "train", "test", "dev"]
    outcome = row_checks.no_groups_across_splits(data(splits, [0, 1, 0, 0, 1], text=texts(5), group=[1, 1, 2, 1, 3]))
    assert not outcome.passed
    assert outcome.numbers == {"groups": 1, "train_rows": 2, "test.rows": 1, "dev.rows": 0}
    assert outcome.what_to_do == (
        "split by group: draw the test split from train with `holdout`, which draws whole groups. `between_splits: "
        "drop` would drop 2 of 3 train rows. Otherwise a model is tested on groups on which it was trained"
    )
    assert row_checks.no_groups_across_splits(
        data(splits, [0, 1, 0, 0, 1], text=texts(5), group=[1, 1, 2, 3, 3])
    ).passed
    without = row_checks.no_groups_across_splits(data(splits, [0, 1, 0, 0, 1], text=texts(5)))
    assert (without.outcome, without.found) == ("skipped", "not applicable: rows with groups only")


@pytest.mark.parametrize(("train_rows", "shared", "advice"), [
    (1_200, 119, "set `between_splits: drop`, which drops 120 of 1,200 train rows, or draw the test split from train"),
    (1_199, 119, "split by group: draw the test split from train with `holdout`, which draws whole groups. `between"),
])  # fmt: skip
def test_splitting_by_group_is_advised_if_over_a_tenth_of_train_would_be_dropped(
    data: Data, train_rows: int, shared: int, advice: str
) -> None:
    splits = ["train"] * train_rows + ["test", "test"]
    groups = [0] * shared + [*range(2, train_rows - shared + 2), 0, 1]
    rows = [*texts(train_rows), "another", f"text {train_rows - 1}"]  # the last input is in train and in test
    given = data(splits, [0, 1] * ((train_rows + 2) // 2) + [0] * (train_rows % 2), text=rows, group=groups)
    outcome = row_checks.no_groups_across_splits(given)
    assert outcome.what_to_do.startswith(advice)
    assert outcome.numbers["train_rows"] == shared
    assert given.dropped_between_splits == shared + 1
    drawn = replace(given, source=SourceFacts(drawn_splits=frozenset({"test"})))
    assert drawn.dropped_between_splits == 0


@pytest.mark.parametrize(("rows", "passed"), [(200, True), (199, False)])
def test_repeats_in_train_over_one_percent(data: Data, rows: int, passed: bool) -> None:
    outcome = row_checks.few_repeats_in_train(
        data(["train"] * rows, [1, 1, *[0, 1] * 98, *[0] * (rows - 198)], text=["same", "same", *texts(rows - 2)])
    )
    assert outcome.passed == passed
    assert outcome.numbers == {"rows": 2, "share": 2 / rows, "largest_share": 0.01, "row_ids": "100, 101"}
    assert ("`drop_duplicates: true`, which keeps one of several copies" in outcome.what_to_do) != passed
    assert outcome.found == f"2 rows ({100 * 2 / rows:.1f} %) of train: row ids 100, 101"


def test_one_input_with_two_labels(data: Data) -> None:
    outcome = row_checks.no_label_conflicts(
        data(["train"] * 5 + ["test"], [0, 1, 0, 1, 0, 0], text=["a", "a", "b", "b", "c", "c"])
    )
    assert not outcome.passed
    assert outcome.numbers == {"rows": 4, "share": 0.8, "inputs": 2, "row_ids_by_input": "100 = 101; 102 = 103"}
    assert "correct the labels" in outcome.what_to_do
    assert outcome.found == (
        "4 rows (80.0 %) of train with 2 inputs; the same input is at row ids 100, 101. And at row ids 102, 103"
    )
    outcome = row_checks.no_label_conflicts(data(["train"] * 3, [0, 0, 1], text=["a", "a", "b"]))
    assert (outcome.passed, outcome.numbers) == (True, {"rows": 0, "share": 0.0, "inputs": 0})


def test_equal_features_and_images_with_two_labels(data: Data) -> None:
    features = data(["train"] * 3, [0, 1, 0], features=[[1, 2], [1, 2], [2, 1]])
    images = [{"bytes": content, "path": None, "sha256": None} for content in (b"a", b"a", b"b")]
    for one in (features, data(["train"] * 3, [0, 1, 0], image=pa.array(images, IMAGE_TYPE))):
        assert row_checks.no_label_conflicts(one).numbers["row_ids_by_input"] == "100 = 101"


@pytest.mark.parametrize(("yes", "passed"), [(3, True), (4, False)])
def test_a_class_over_three_times_another(data: Data, yes: int, passed: bool) -> None:
    outcome = row_checks.classes_balanced(data(["train"] * (yes + 1), [0, *[1] * yes], text=texts(yes + 1)))
    assert outcome.passed == passed
    assert outcome.numbers == {
        "largest_ratio": 3.0,
        "train.ratio": yes,
        "train.largest": f"'yes' {yes / (yes + 1):.4f}",
        "train.smallest": f"'no' {1 / (yes + 1):.4f}",
    }
    assert ("a model reaches without any input" in outcome.what_to_do) != passed
    shares = f"'yes' {100 * yes / (yes + 1):.1f} %, 'no' {100 / (yes + 1):.1f} %"
    assert outcome.found == f"largest and smallest class of train: {shares}"


def test_classes_of_one_size_are_named_first_and_last(data: Data) -> None:
    outcome = row_checks.classes_balanced(data(["train"] * 3, [2, 1, 0], ("a", "b", "c"), text=texts(3)))
    assert (outcome.numbers["train.largest"], outcome.numbers["train.smallest"]) == ("'a' 0.3333", "'c' 0.3333")


def test_a_class_absent_from_a_test_split_is_named(data: Data) -> None:
    outcome = row_checks.classes_balanced(
        data(["train", "train", "train", "test"], [0, 1, 2, 1], ("no", "yes", "x\n"), text=texts(4))
    )
    assert not outcome.passed
    assert outcome.numbers["test.absent"] == r"'no', 'x\n'"
    assert outcome.numbers["test.ratio"] == 1.0
    assert outcome.what_to_do == r"test has no rows of 'no', 'x\n': add rows, or remove the class"


@pytest.mark.parametrize(("yes", "passed"), [(11, True), (12, False)])
def test_shares_that_differ_by_over_five_points(data: Data, yes: int, passed: bool) -> None:
    labels = [0, 1] * 50 + [1] * yes + [0] * (20 - yes)
    outcome = row_checks.class_shares_alike(data(["train"] * 100 + ["test"] * 20, labels, text=texts(120)))
    assert outcome.passed == passed
    assert outcome.numbers == {
        "largest_points": 5.0,
        "test.points": pytest.approx(100 * (0.5 - yes / 20)),
        "test.class": "'no'",
    }
    assert ("on test by class" in outcome.what_to_do) != passed


def test_a_test_split_of_one_row_or_no_train_rows(data: Data) -> None:
    outcome = row_checks.class_shares_alike(data(["train", "train", "test"], [0, 1, 1], text=texts(3)))
    assert (outcome.passed, outcome.numbers["test.points"]) == (False, -50.0)
    outcome = row_checks.class_shares_alike(data(["test"], [1], text=["a"]))
    assert (outcome.outcome, outcome.found) == (
        "skipped",
        "not applicable: only for datasets with train and another split",
    )


def annotated(data: Data, labels: list[int], annotators: list[list[int]]) -> CheckContext:
    column = pa.array(annotators, pa.list_(pa.int64()))
    return data(["train"] * len(labels), labels, text=texts(len(labels)), annotator_labels=column)


def test_rows_whose_annotators_mostly_disagree(data: Data) -> None:
    outcome = row_checks.annotators_agree(annotated(data, [0, 0, 1, 1], [[0, 0, 0], [1, 1, 0], [1, 0], []]))
    assert not outcome.passed
    assert outcome.numbers == {
        "rows": 3,
        "mean_accuracy": pytest.approx((1 + 1 / 3 + 1 / 2) / 3),
        "unanimous_share": pytest.approx(1 / 3),
        "outvoted_rows": 1,
        "outvoted_share": pytest.approx(1 / 3),
        "outvoted_row_ids": "101",
    }
    assert "same class names" in outcome.what_to_do
    assert outcome.found == "1 row (33.3 %) of 3 with annotators' labels: row id 101"


@pytest.mark.parametrize(("rows", "passed"), [(100, True), (99, False)])
def test_one_outvoted_row_in_a_hundred_passes(rows: int, passed: bool, data: Data) -> None:
    labels = [row % 2 for row in range(rows)]
    outcome = row_checks.annotators_agree(annotated(data, labels, [[1], *([label] for label in labels[1:])]))
    assert (outcome.passed, outcome.numbers["outvoted_share"]) == (passed, 1 / rows)
    assert "unanimous_share" not in outcome.numbers


def test_without_annotators_there_is_nothing_to_agree_on(data: Data) -> None:
    outcome = row_checks.annotators_agree(data(["train"], [0], text=["a"]))
    assert outcome.found == "not applicable: only for rows with annotators' labels"
    assert outcome.passed
    assert row_checks.annotators_agree(annotated(data, [0], [[]])).passed


@pytest.mark.parametrize("check", ["no_repeats_across_splits", "no_groups_across_splits", "class_shares_alike"])
def test_what_compares_splits_does_not_apply_to_train_alone(data: Data, check: str) -> None:
    alone = data(["train"] * 2, [0, 1], text=texts(2), group=[0, 1])
    outcome = getattr(row_checks, check)(alone)
    assert outcome.passed
    assert outcome.found.startswith("not applicable: ")
