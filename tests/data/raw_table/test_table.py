import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from aflite_assets.data.raw_table.storage import load_examples, save_examples
from aflite_assets.data.raw_table.table import RawTable, build_raw_table, group_numbers, hold_out, implied_columns
from aflite_assets.errors import DataError
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.core import AnnotationsSpec
from aflite_assets.specs.sources import SourceSpec

Build = Callable[..., RawTable]
TRAIN = {"text": ["a", "b", "c", "d"], "label": ["yes", "-", "no", "yes"]}
DEV = {"text": ["e", "f"], "label": ["-", "no"]}

LABELS = np.arange(100) % 2


def test_columns_have_the_contracts_names_types_and_order(build: Build) -> None:
    values = TRAIN | {"premise": ["p", "q", "p", "q"], "uid": [5, 6, 7, 8], "year": [1, 2, None, 4]}
    columns = {"text": "premise", "text_pair": "text", "id": "uid", "group": "premise", "attributes": ("year",)}
    raw = build({"train": values}, columns, label_names=("yes", "no"), unlabelled=("-",))
    assert raw.examples.table.schema == pa.schema(
        [
            ("row_id", pa.int64()),
            ("source_id", pa.string()),
            ("split", pa.string()),
            ("label", pa.int64()),
            ("text", pa.string()),
            ("text_pair", pa.string()),
            ("group", pa.int64()),
            ("attribute.year", pa.string()),
        ]
    )
    assert raw.examples.table.to_pylist()[1] == {
        "row_id": 2, "source_id": "7", "split": "train", "label": 1, "text": "p", "text_pair": "c", "group": 0,
        "attribute.year": "(empty)",
    }  # fmt: skip
    assert raw.examples.label_names == ("yes", "no")


def test_row_ids_are_positions_in_the_source_before_rows_are_dropped_and_counted(build: Build) -> None:
    raw = build({"train": TRAIN, "dev": DEV}, unlabelled=("-",))
    assert raw.examples.row_ids.tolist() == [0, 2, 3, 5]
    assert raw.examples.table["split"].to_pylist() == ["train"] * 3 + ["dev"]
    assert (raw.source_rows, raw.unlabelled_rows) == ({"train": 4, "dev": 2}, {"train": 1, "dev": 1})


def test_inputs_of_dropped_rows_count_for_ids_and_groups_all_the_same(build: Build) -> None:
    with pytest.raises(DataError, match="split 'train': column 'uid' has '1' in rows 1 and 2"):
        build({"train": TRAIN | {"uid": [1, 1, 2, 3]}}, {"text": "text", "id": "uid"}, unlabelled=("-",))


def test_same_id_may_stand_in_two_splits(build: Build) -> None:
    splits = {"train": TRAIN | {"uid": [1, 2, 3, 4]}, "dev": DEV | {"uid": [1, 2]}}
    raw = build(splits, {"text": "text", "id": "uid"}, unlabelled=("-",))
    assert raw.examples.table["source_id"].to_pylist() == ["1", "3", "4", "2"]


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (
            {"train": {"text": ["a", "b"], "label": ["yes", "yes"]}},
            "split 'train' has only the class 'yes' in 2 rows, and filtering needs at least two classes; add rows of "
            "another class, or correct `columns.label`, which is 'label'",
        ),
        (
            {"train": {"text": ["a", "b"], "label": ["yes", "-"]}},
            "has only the class 'yes' in 1 row, and filtering needs",
        ),
        ({"train": TRAIN, "dev": {"text": ["a"], "label": ["-"]}}, "split 'dev' has no labelled rows; correct the"),
        ({"train": TRAIN, "dev": {"text": pa.array([], pa.string()), "label": []}}, "split 'dev' has no rows; correct"),
        ({"train": TRAIN, "dev": {"txt": ["a"], "label": ["no"]}}, "split 'dev' has no column 'text'"),
        (
            {"train": TRAIN, "dev": {"text": ["a"], "label": ["maybe"]}},
            "label 'maybe' (1 rows) is not one of the classes",
        ),
    ],
)
def test_splits_that_cannot_be_used_are_refused(build: Build, splits: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        build(splits, label_names=("yes", "no"), unlabelled=("-",))


def test_one_class_is_enough_outside_train(build: Build) -> None:
    assert len(build({"dev": {"text": ["a"], "label": [1]}}, label_names=("no", "yes")).examples) == 1


def test_features_must_have_one_width_over_all_splits(build: Build) -> None:
    splits = {"train": {"x": [[1, 2], [3, 4]], "label": [0, 1]}, "dev": {"x": [[1]], "label": [0]}}
    with pytest.raises(DataError, match=re.escape("different numbers of features ({'train': 2, 'dev': 1})")):
        build(splits, {"features": "x"})


def test_no_features_at_all_are_no_rows(build: Build) -> None:
    with pytest.raises(DataError, match="split 'train' has no rows"):
        build({"train": {"x": pa.array([], pa.list_(pa.float32())), "label": []}}, {"features": "x"})


def _balanced(rows: int) -> dict[str, Any]:
    """Three rows in four are of class 0; groups of two, one of each class where there are two."""
    return {
        "text": [f"t{row}" for row in range(rows)],
        "label": [int(row % 4 == 3) for row in range(rows)],
        "pair": [row // 2 for row in range(rows)],
    }


def test_limit_is_stratified_and_only_of_the_splits_named(build: Build) -> None:
    raw = build({"train": _balanced(80), "dev": _balanced(40)}, limit={"train": 20})
    assert np.bincount(raw.examples.in_split("train").labels).tolist() == [15, 5]
    assert len(raw.examples.in_split("dev")) == 40
    assert raw.source_rows == {"train": 80, "dev": 40}


def test_limit_is_drawn_from_the_seed(build: Build) -> None:
    drawn = [build({"train": _balanced(80)}, limit={"train": 20}, seed=seed).examples.row_ids for seed in (0, 0, 1)]
    assert drawn[0].tolist() == drawn[1].tolist() != drawn[2].tolist()
    assert (np.diff(drawn[0]) > 0).all()


def test_limit_counts_rows_with_a_label(build: Build) -> None:
    values = {"text": [str(row) for row in range(20)], "label": ["-"] * 12 + ["yes", "no"] * 4}
    raw = build({"train": values}, limit={"train": 8}, unlabelled=("-",))
    assert raw.examples.row_ids.tolist() == list(range(12, 20))


@given(limit=st.integers(4, 90), seed=st.integers(0, 50))
def test_limit_takes_whole_groups_and_never_more_than_asked(limit: int, seed: int) -> None:
    values = _balanced(80) | {"label": [0, 1] * 40}  # every group has both classes, so that any draw has
    raw = build_raw_table(
        {"train": pa.table(values)},
        columns=ColumnsSpec(text="text", group="pair"),
        label_names=None,
        unlabelled=(),
        limit={"train": limit},
        seed=seed,
    )
    groups = raw.examples.groups
    assert groups is not None
    assert min(limit, 80) - 1 <= len(groups) <= limit
    assert np.bincount(groups).tolist() == [2 if group in groups else 0 for group in range(groups.max() + 1)]


def test_limit_that_leaves_one_class_or_nothing_says_so(build: Build) -> None:
    with pytest.raises(DataError, match=r"split 'train' has only the class .*; the limit keeps only 1 rows, so raise"):
        build({"train": _balanced(8)}, limit={"train": 1})
    with pytest.raises(DataError, match="split 'dev' has no labelled rows; the limit keeps only 1 rows, so raise"):
        build({"dev": _balanced(8)}, {"text": "text", "group": "pair"}, limit={"dev": 1})


def test_hostile_text_passes_unharmed(build: Build, tmp_path: Path) -> None:
    texts = ["<script>alert(1)</script>", "\x00\x01\x1b[2J", "\u202e\U0001f600", "=cmd|' /C calc'!A0"]
    raw = build(
        {"train": {"text": texts, "label": ["<b>", "\x00", "<b>", "\x00"]}}, label_names={"a": "\x00", "<b>": "<b>"}
    )
    assert raw.examples.texts() == texts
    assert raw.examples.labels.tolist() == [1, 0, 1, 0]
    save_examples(raw.examples, tmp_path)
    assert load_examples(tmp_path).texts() == texts


CIRCLES = {
    "format": "circles", "splits": {"train": 8}, "inner_radius": 1, "outer_radius": 2, "radius_deviation": 0,
    "biased_share": 0.5, "bias_width": 1, "bias_mean": 1, "bias_deviation": 1, "noise_deviation": 1,
    "flipped_share": 0,
}  # fmt: skip


FILES = {"features": "x", "labels": "y"}


@pytest.mark.parametrize(
    ("source", "implied"),
    [
        (CIRCLES, {"features": "features", "attributes": ("biased", "flipped")}),
        ({"format": "digits"}, {"image": "image", "id": "id"}),
        (
            {"format": "template_nli", "splits": {"train": 6}, "planted_share": 0.5},
            {"text": "text", "text_pair": "text_pair", "id": "id", "attributes": ("cue",)},
        ),
        ({"format": "hub", "id": "owner/name", "revision": "main", "splits": {"train": "train"}}, {}),
        ({"format": "image_folder", "splits": {"train": "a"}}, {"image": "image", "id": "path"}),
        ({"format": "features", "splits": {"train": FILES}}, {"features": "features"}),
        (
            {"format": "features", "splits": {"train": FILES | {"groups": "g"}}},
            {"features": "features", "group": "group"},
        ),
        ({"format": "csv", "splits": {"train": "a"}}, {}),
    ],
)
def test_formats_imply_their_columns_and_the_spec_goes_first(source: dict[str, Any], implied: dict[str, Any]) -> None:
    parsed = TypeAdapter(SourceSpec).validate_python(source)
    assert implied_columns(parsed, ColumnsSpec()) == ColumnsSpec(**implied)
    assert implied_columns(parsed, ColumnsSpec(attributes=(), id="mine")) == ColumnsSpec(
        **implied | {"attributes": (), "id": "mine"}
    )


def test_groups_in_some_feature_splits_only_are_refused(build: Build) -> None:
    splits = {"train": {"x": [[1], [2]], "label": [0, 1], "group": [0, 1]}, "dev": {"x": [[1]], "label": [0]}}
    with pytest.raises(DataError, match=re.escape("split 'dev' has no column 'group', but `columns.group` names it")):
        build(splits, {"features": "x", "group": "group"})


@pytest.mark.parametrize("labels", [[0.5, 1.0, 2.0], ["0.5", "1", "1.5"]])
def test_amounts_are_no_classes_unless_they_are_listed(build: Build, labels: list[Any]) -> None:
    splits = {"train": {"text": ["a", "b", "c"], "label": labels}}
    with pytest.raises(
        DataError,
        match=r"column 'label' contains numbers with fractions \(such as 0.5\), which are amounts and not "
        r"classes",
    ):
        build(splits)
    assert build(splits, label_names=("0.5", "1", "2", "1.5")).examples.labels[0] == 0


def test_a_tie_is_a_class_of_its_own_unless_the_labels_are_those_of_answers(build: Build) -> None:
    columns = {"text": "text", "question": "asked"}
    votes = {"text": list("abcd"), "label": ["model_a", "tie", "model_b", "tie"], "asked": [0, 0, 1, 1]}
    raw = build({"train": votes}, columns)
    assert (raw.examples.label_names, raw.dropped_answers) == (("model_a", "model_b", "tie"), {})
    listed = build({"train": votes}, columns, label_names=("model_a", "model_b", "tie"))
    assert listed.examples.labels.tolist() == [0, 2, 1, 2]
    answers = build({"train": votes | {"label": ["right", "tie", "wrong", "-"]}}, columns, unlabelled=("-",))
    assert (len(answers.examples), answers.dropped_answers) == (2, {"train": {"tie": 1}})


def test_nan_written_as_text_is_a_missing_label_and_no_fraction(build: Build) -> None:
    splits = {"train": {"text": ["a", "b", "c"], "label": ["1", "nan", "0"]}}
    message = (
        r"^column 'label' contains 'nan' beside whole numbers; if such rows have no label, empty these cells in the "
        r"source or add 'nan' to `unlabelled`; otherwise set `columns.label` to another column"
    )
    with pytest.raises(DataError, match=message):
        build(splits)
    assert build(splits, unlabelled=("nan",)).examples.label_names == ("0", "1")


def test_names_with_a_point_are_classes(build: Build) -> None:
    assert build({"train": {"text": ["a", "b"], "label": ["0.5", "v1.0"]}}).examples.label_names == ("0.5", "v1.0")


def test_first_rows_alone_need_no_second_class_and_no_label(build: Build) -> None:
    splits = {"train": {"text": ["a", "b"], "label": ["yes", "yes"]}, "dev": {"text": ["c"], "label": ["-"]}}
    raw = build(splits, unlabelled=("-",), complete=False)
    assert raw.examples.row_ids.tolist() == [0, 1]
    assert build(splits, unlabelled=("-",), complete=False, limit={"train": 1}).examples.label_names == ("yes",)


def test_first_rows_without_any_label_still_have_their_columns(build: Build) -> None:
    raw = build({"train": {"x": [[1.0]], "label": ["-"]}}, {"features": "x"}, unlabelled=("-",), complete=False)
    assert (len(raw.examples), raw.examples.modality) == (0, "features")


IMAGES = {"image": pa.array([bytes([row]) * 5000 for row in range(100)]), "label": [row % 2 for row in range(100)]}


def test_images_of_rows_that_stay_are_not_copied(build: Build) -> None:
    before = pa.total_allocated_bytes()
    whole = build({"train": IMAGES}, {"image": "image"})
    few_dropped = build(
        {"train": IMAGES | {"label": [0, 1, 2] + [0, 1] * 48 + [2]}}, {"image": "image"}, unlabelled=(2,)
    )
    assert pa.total_allocated_bytes() - before < 100_000
    assert (len(whole.examples), len(few_dropped.examples)) == (100, 98)
    assert few_dropped.examples.image_bytes(2) == bytes([3]) * 5000


def test_annotators_labels_follow_the_groups_and_are_numbered_as_the_labels_are(build: Build) -> None:
    values = TRAIN | {"given": [["yes", "no"], [], None, ["no", "-", ""]], "premise": ["p"] * 4}
    columns = {"text": "text", "group": "premise", "annotators": "given", "attributes": ("premise",)}
    table = build({"train": values}, columns, unlabelled=("-",)).examples.table
    assert table.column_names[-3:] == ["group", "annotator_labels", "attribute.premise"]
    assert table.schema.field("annotator_labels").type == pa.list_(pa.int64())
    assert table["annotator_labels"].to_pylist() == [[1, 0], [], [0]]


def test_annotators_of_first_rows_may_match_nothing(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("uid,given\nx,yes\n")
    annotations = AnnotationsSpec(format="csv", files=str(path), match={"text": "uid"}, annotators="given")
    raw = build({"train": TRAIN}, unlabelled=("-",), annotations=annotations, complete=False)
    assert raw.examples.table["annotator_labels"].to_pylist() == [[], [], []]
    with pytest.raises(DataError, match="annotations: no row of the files matches"):
        build({"train": TRAIN}, unlabelled=("-",), annotations=annotations)


def test_groups_are_numbered_over_all_splits_in_order_of_appearance() -> None:
    tables = {"train": pa.table({"g": ["b", "a", "b"]}), "dev": pa.table({"g": ["c", "a"]})}
    numbers = group_numbers(tables, "g")
    assert {split: array.tolist() for split, array in numbers.items()} == {"train": [0, 1, 0], "dev": [2, 1]}
    assert group_numbers(tables, None) == {}


def test_group_written_as_number_and_as_text_is_one_group() -> None:
    tables = {"train": pa.table({"g": [7, 8]}), "dev": pa.table({"g": ["8", "x"]}), "test": pa.table({"g": [7.0]})}
    assert [array.tolist() for array in group_numbers(tables, "g").values()] == [[0, 1], [1, 2], [0]]


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_groups_are_counted(missing: Any) -> None:
    table = pa.table({"g": pa.array([1.0, missing, missing], pa.float64())})
    with pytest.raises(DataError, match=r"column 'g' has no group in 2 rows \(first: row 2\); give every row a group"):
        group_numbers({"dev": table}, "g")


def test_rows_that_share_a_value_of_any_column_are_one_group() -> None:
    tables = {
        "train": pa.table({"claim": ["c1", "c2", "c3", "c1"], "evidence": ["e1", "e2", "e3", "e2"]}),
        "dev": pa.table({"claim": ["c9", "e3"], "evidence": ["e9", "e8"]}),
    }
    numbers = group_numbers(tables, ("claim", "evidence"))
    # c1-e1, c1-e2 and c2-e2 hang together; the text e3 stands in both columns.
    assert {split: array.tolist() for split, array in numbers.items()} == {"train": [0, 0, 1, 0], "dev": [2, 1]}
    assert {array.dtype for array in numbers.values()} == {np.dtype(np.int64)}


def test_one_column_in_a_list_is_that_column() -> None:
    tables = {"train": pa.table({"g": ["b", "a", "b"]})}
    assert group_numbers(tables, ("g",))["train"].tolist() == [0, 1, 0]


def test_a_long_chain_is_one_group() -> None:
    links = pa.table({"a": [str(row) for row in range(5000)], "b": [str(row + 1) for row in range(5000)]})
    assert set(group_numbers({"train": links}, ("a", "b"))["train"].tolist()) == {0}


def test_every_row_is_in_one_split_with_the_classes_shares() -> None:
    splits = hold_out(LABELS, None, {"test": 0.2, "validation": 10}, seed=0)
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 70, "test": 20, "validation": 10}
    assert sorted(np.concatenate(list(splits.values()))) == list(range(100))
    assert [int(LABELS[rows].sum()) for rows in splits.values()] == [35, 10, 5]
    assert all((np.diff(rows) > 0).all() for rows in splits.values())


def test_groups_are_never_split() -> None:
    groups = np.arange(90) // 3
    splits = hold_out(LABELS[:90], groups, {"test": 0.3}, seed=4)
    assert not set(groups[splits["train"]]) & set(groups[splits["test"]])
    assert len(splits["test"]) == 27


def test_the_seed_decides_the_draw() -> None:
    draws = [hold_out(LABELS, None, {"test": 0.2}, seed=seed)["test"].tolist() for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize(
    ("holdout", "message"),
    [
        (
            {"test": 100},
            "`holdout.test` is 100, which is 100 rows, but only 100 train rows are left, and some must "
            "remain; lower `holdout.test`",
        ),
        (
            {"test": 5_000},
            r"`holdout\.test` is 5,000, but there are only 100 train rows; set it to at most 100, or to a",
        ),
        (
            {"test": 60, "dev": 0.5},
            "`holdout.dev` is 0.5, which is 50 rows, but only 40 train rows are left, and some must "
            "remain; lower `holdout.dev`",
        ),
        (
            {"test": 0.001},
            "`holdout.test` is 0.001, but this share of the 100 train rows rounds to 0 rows; set it to a "
            "share of at least",
        ),
    ],
)
def test_sizes_that_cannot_be_met_are_refused(holdout: dict[str, int | float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        hold_out(LABELS, None, holdout, seed=0)


def test_groups_larger_than_the_draw_are_refused() -> None:
    with pytest.raises(
        DataError,
        match=r"`holdout.test` draws whole groups, but every group has more than 5 rows; raise "
        r"`holdout.test`, or set `columns.group` to another column",
    ):
        hold_out(LABELS, np.arange(100) // 10, {"test": 5}, seed=0)


def test_raw_table_draws_from_labelled_rows_and_limits_what_was_drawn(build: Callable[..., RawTable]) -> None:
    columns = {"text": [f"t{row}" for row in range(100)], "label": ["a", "b", "a", "b", "-"] * 20}
    raw = build({"train": columns}, holdout={"test": 0.25}, limit={"test": 10}, unlabelled=("-",))
    rows = raw.examples.table.select(["split", "row_id"]).to_pydict()
    assert raw.labelled_rows == {"train": 60, "test": 20}
    assert {split: rows["split"].count(split) for split in ("train", "test")} == {"train": 60, "test": 10}
    assert len(set(rows["row_id"])) == 70
    assert all(row % 5 != 4 for row in rows["row_id"])
    assert (raw.source_rows, raw.unlabelled_rows) == ({"train": 100}, {"train": 20})
