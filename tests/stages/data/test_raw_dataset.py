"""Reading a source into the published table: broken images, held-out splits, what the summary counts."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import DataError, MissingDataError, SpecError
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.data.raw_dataset import read_raw
from aflite_assets.stages.pipeline import STAGES, run_stage, stage_key
from aflite_assets.stages.shared.report_inputs import row_notes
from aflite_assets.stages.stage import Progress

Make = Callable[..., DatasetSpec]


@pytest.fixture
def images(tmp_path: Path) -> Make:
    """Two classes of 20 train and 10 test images each; `broken` are files that hold no image."""

    def make(*broken: str, **changes: Any) -> DatasetSpec:
        for split, rows in (("train", 20), ("test", 10)):
            for label in ("cat", "dog"):
                folder = tmp_path / split / label
                folder.mkdir(parents=True, exist_ok=True)
                for number in range(rows):
                    pixels = np.full((4, 4, 3), number + 100 * (label == "dog") + 40 * (split == "test"), np.uint8)
                    Image.fromarray(pixels).save(folder / f"{number:02d}.png")
        for name in broken:
            (tmp_path / name).write_bytes(b"")
        splits = {split: str(tmp_path / split) for split in ("train", "test")}
        model = {"kind": "timm_image", "architecture": "test_resnet"}
        content = {
            "name": "pictures",
            "source": {"format": "image_folder", "splits": splits},
            "representations": {"pixels": model},
            "evaluators": {"linear": {"kind": "linear"}},
        }
        return parse_spec(content | changes)

    return make


def summary(result: PublishedResult) -> dict[str, Any]:
    published: dict[str, Any] = json.loads(result.file("summary.json").read_text())
    assert published == result.summary
    return published


def test_images_that_do_not_decode_are_dropped_counted_and_named(images: Make, store: ResultStore) -> None:
    spec = images("train/cat/03.png", "train/dog/00.png", "test/dog/09.png", undecodable_images=0.05)
    result = run_stage("raw_dataset", spec, store=store).result
    found = summary(result)
    assert found["undecodable_images"] == {
        "train": {"rows": 2, "share": 0.05, "row_ids": [3, 20], "source_ids": ["cat/03.png", "dog/00.png"]},
        "test": {"rows": 1, "share": 0.05, "row_ids": [59], "source_ids": ["dog/09.png"]},
    }
    assert found["rows"] == {"train": 38, "test": 19}
    assert found["rows_per_class"]["train"] == {"cat": 19, "dog": 19}
    assert found["labelled_rows"] == {"train": 40, "test": 20}
    assert not found["trial_run"]
    examples = load_examples(result.path)
    assert not set(examples.row_ids) & {3, 20, 59}
    assert len(examples) == 57


def test_more_broken_images_than_allowed_publish_nothing(images: Make, store: ResultStore) -> None:
    with pytest.raises(
        DataError, match=r"split 'train': 1 of 40 images \(2\.50%\).* only 1\.00% .*\(first: 'cat/03\.png'\)"
    ):
        run_stage("raw_dataset", images("train/cat/03.png"), store=store)
    assert not list(store.root.rglob("manifest.json"))


def test_a_limited_set_with_broken_images_is_a_trial_run_for_the_limit_alone(images: Make, store: ResultStore) -> None:
    spec = images("test/dog/09.png", undecodable_images=0.5, limit={"train": 30})
    found = summary(run_stage("raw_dataset", spec, store=store).result)
    assert found["trial_run"]
    assert found["rows"]["train"] == 30
    assert not summary(run_stage("raw_dataset", images(limit={"train": 40}), store=store).result)["trial_run"]


def test_the_share_of_broken_images_is_part_of_the_key(images: Make) -> None:
    keys = {
        stage_key(STAGES["raw_dataset"], images(undecodable_images=share), {}).digest for share in (0.01, 0.02, 0.01)
    }
    assert len(keys) == 2
    other = stage_key(STAGES["warmup_split"], images(undecodable_images=0.02), {}).digest
    assert other == stage_key(STAGES["warmup_split"], images(), {}).digest


def test_the_first_rows_of_broken_images_are_read(images: Make) -> None:
    names = [f"train/{label}/{number:02d}.png" for label in ("cat", "dog") for number in range(1, 20)]
    raw = read_raw(images(*names), first_rows=6)
    assert Counter(raw.examples.table["split"].to_pylist())["train"] == 2
    assert raw.undecodable_images["train"].share > 0.5


@pytest.mark.parametrize("limit", [None, {"train": 40, "dev": 6}])
def test_splits_are_held_out_and_then_limited(
    feature_files: Callable[..., dict[str, Any]], limit: dict[str, int] | None, store: ResultStore
) -> None:
    spec = parse_spec(feature_files() | {"holdout": {"dev": 0.25, "extra": 10}, "limit": limit})
    result = run_stage("raw_dataset", spec, store=store).result
    found = summary(result)
    assert found["source_rows"] == {"train": 120, "test": 40}
    assert found["labelled_rows"] == {"train": 80, "test": 40, "dev": 30, "extra": 10}
    expected = {"train": 80, "test": 40, "dev": 30, "extra": 10} | (limit or {})
    assert found["rows"] == expected
    assert list(found["rows"]) == ["train", "dev", "extra", "test"]
    assert found["trial_run"] == (limit is not None)
    assert all(len(set(classes.values())) == 1 for classes in found["rows_per_class"].values())
    assert len(set(load_examples(result.path).row_ids)) == sum(expected.values())


def test_without_holdout_the_rows_are_those_of_the_source(feature_files: Callable[..., dict[str, Any]]) -> None:
    raw = read_raw(parse_spec(feature_files()))
    assert (raw.labelled_rows, raw.undecodable_images) == ({"train": 120, "test": 40}, {})
    assert raw.examples.row_ids.tolist() == list(range(160))


def test_a_holdout_or_limit_that_leaves_one_class_is_refused(feature_files: Callable[..., dict[str, Any]]) -> None:
    spec = parse_spec(feature_files(train_labels=np.arange(120) // 119) | {"holdout": {"dev": 118}})
    with pytest.raises(
        DataError, match=r"split 'train' has only the class '0' in 2 rows, and filtering needs .*; hold out fewer rows"
    ):
        read_raw(spec)
    spec = parse_spec(feature_files() | {"holdout": {"dev": 10}, "limit": {"train": 1}})
    with pytest.raises(
        DataError,
        match=r"split 'train' has only the class '\d' in 1 row, .*; the limit keeps only 1 rows, so raise",
    ):
        read_raw(spec)


def test_fewer_rows_than_the_file_allows_are_refused_and_publish_nothing(
    feature_files: Callable[..., dict[str, Any]], store: ResultStore
) -> None:
    spec = parse_spec(feature_files() | {"least_rows": {"train": 121, "test": 40}})
    message = "split 'train' has 120 rows, but `least_rows` is 121; check that the files of the split are complete, or"
    with pytest.raises(DataError, match=message):
        run_stage("raw_dataset", spec, store=store)
    assert store.current_key("raw_dataset", spec.name) is None
    enough = parse_spec(feature_files() | {"least_rows": {"train": 120}})
    assert summary(run_stage("raw_dataset", enough, store=store).result)["source_rows"]["train"] == 120
    with pytest.raises(
        SpecError,
        match=r"`least_rows` contains 'extra', which is not a split of `source`; name one of \['train', 'test'\]",
    ):
        parse_spec(feature_files() | {"least_rows": {"extra": 1}})


def test_of_first_rows_held_out_splits_get_equal_parts(feature_files: Callable[..., dict[str, Any]]) -> None:
    spec = parse_spec(feature_files() | {"holdout": {"dev": 100, "extra": 100}})
    raw = read_raw(spec, first_rows=10)
    assert Counter(raw.examples.table["split"].to_pylist()) == {"train": 40, "dev": 40, "extra": 40, "test": 40}


def test_reading_is_logged(images: Make, store: ResultStore) -> None:
    lines: list[str] = []
    run_stage("raw_dataset", images(), store=store, progress=Progress(lines.append))
    assert lines == ["raw dataset: {'train': 40, 'test': 20}"]


def test_annotations_that_need_not_be_there_are_left_out_and_read_when_they_are(
    circles_content: dict[str, Any], store: ResultStore, tmp_path: Path
) -> None:
    file = tmp_path / "annotators.csv"
    circles_content["columns"] = {"attributes": ["biased"], "id": None}
    circles_content["annotations"] = {
        "format": "csv", "files": str(file), "match": {"biased": "key"}, "annotators": "said", "required": False,
    }  # fmt: skip
    said: list[str] = []
    progress = Progress(said.append)
    without = run_stage("raw_dataset", parse_spec(circles_content), store=store, progress=progress).result
    reason = f"the labels of single annotators are left out: annotations file '{file}' does not exist"
    assert without.summary["annotations_left_out"] == reason
    assert reason in said
    assert "annotator_labels" not in load_examples(without.path).table.column_names
    assert row_notes(without) == (
        "Human accuracy is not reported, because the files with labels by single annotators are missing.",
    )

    file.write_text("key,said\nmaybe,inner\n")
    with pytest.raises(DataError, match="no row of the files matches a row of the dataset"):
        run_stage("raw_dataset", parse_spec(circles_content), store=store)
    file.unlink()
    circles_content["annotations"]["required"] = True
    with pytest.raises(MissingDataError, match=f"file '{file}' of `annotations` does not exist; correct the path"):
        run_stage("raw_dataset", parse_spec(circles_content), store=store)


def _with_features(content: dict[str, Any], train: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    for split, features in (("train", train), ("test", test)):
        np.save(content["source"]["splits"][split]["features"], features)
    return content


def test_copies_and_shared_rows_are_dropped_told_and_part_of_the_key(
    feature_files: Callable[..., dict[str, Any]], store: ResultStore
) -> None:
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(120, 4)).astype(np.float32), rng.normal(size=(40, 4)).astype(np.float32)
    train[10], train[11], test[0] = train[0], train[1], train[2]
    labels = np.arange(120) % 2
    labels[11] = 0  # row 1 has 1
    content = _with_features(feature_files(train_labels=labels), train, test)
    plain = parse_spec(content)
    spec = parse_spec(content | {"drop_duplicates": True, "between_splits": "drop"})
    assert stage_key(STAGES["raw_dataset"], plain, {}).digest != stage_key(STAGES["raw_dataset"], spec, {}).digest
    lines: list[str] = []
    found = summary(run_stage("raw_dataset", spec, store=store, progress=Progress(lines.append)).result)
    assert found["rows"] == {"train": 118, "test": 40}
    assert not found["trial_run"]
    assert found["duplicates"] == {"dropped": {"train": 1}, "same_input_other_label": {"train": 2}}
    assert found["between_splits"] == {"shared_group": 0, "shared_input": 1}
    assert lines[0] == "`drop_duplicates` dropped 1 row of train because an earlier row has the same input and label"
    assert lines[1].startswith(
        "`drop_duplicates` kept 2 rows of train although the same input also occurs with another"
    )
    assert lines[2].startswith(
        "`between_splits` dropped 1 train row: 0 because another split has their group, and 1 because another split"
    )
    assert "duplicates" not in summary(run_stage("raw_dataset", plain, store=store).result)


def test_features_are_standardised_in_all_splits_and_challenge_sets(
    feature_files: Callable[..., dict[str, Any]], store: ResultStore
) -> None:
    rng = np.random.default_rng(0)
    train, test = rng.normal(3, 5, size=(120, 3)).astype(np.float32), rng.normal(size=(40, 3)).astype(np.float32)
    train[:, 2] = 7
    content = _with_features(feature_files(), train, test)
    challenge = {"source": content["source"], "columns": content.get("columns", {})}
    spec = parse_spec(content | {"standardise": True, "challenge_sets": {"again": challenge}})
    lines: list[str] = []
    result = run_stage("raw_dataset", spec, store=store, progress=Progress(lines.append)).result
    assert summary(result)["standardised"] == {"columns": 3, "constant": [2]}
    assert lines[0] == (
        "`standardise` scaled 3 feature columns to mean 0 and standard deviation 1 in train; these columns are "
        "constant in train and become 0: 2 (counted from 0)"
    )
    rows = load_examples(result.path)
    expected = (test - train.mean(axis=0)) / np.where(train.std(axis=0) > 0, train.std(axis=0), 1)
    assert rows.in_split("test").features == pytest.approx(expected, abs=1e-5)
    assert np.abs(rows.in_split("train").features.std(axis=0) - [1, 1, 0]).max() < 1e-5
    again = run_stage("challenge_sets", spec, store=store).result
    assert np.array_equal(load_examples(again.path / "again").features, rows.in_split("test").features)


def test_texts_are_not_standardised(images: Make) -> None:
    with pytest.raises(
        SpecError,
        match=r"`standardise` is true, but the dataset has no feature vectors; remove `standardise`, or "
        r"set `columns.features`",
    ):
        images(standardise=True)
