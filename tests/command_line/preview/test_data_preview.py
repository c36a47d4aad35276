"""Large sources are looked at in part and counted whole; challenge sets are mapped as a run maps them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from aflite_assets.command_line.preview import data_preview
from aflite_assets.command_line.preview.data_preview import preview_challenges, preview_data, preview_plan
from aflite_assets.errors import DataError, MissingDataError, ModelError
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.data import raw_dataset
from aflite_assets.stages.shared.sizes import CurveSizes

COMMIT = "a" * 40


@pytest.fixture
def images(tmp_path: Path) -> dict[str, Any]:
    """Two classes with 12 train and 4 test images each."""
    for split, rows in (("train", 12), ("test", 4)):
        for name in ("cat", "dog"):
            (tmp_path / split / name).mkdir(parents=True)
            for number in range(rows):
                pixels = np.full((4, 4, 3), 10 * number, np.uint8)
                Image.fromarray(pixels).save(tmp_path / split / name / f"{number:02d}.png")
    return {
        "name": "images",
        "source": {"format": "image_folder", "splits": {s: str(tmp_path / s) for s in ("train", "test")}},
        "warmup": {"size": 6},
        "representations": {"net": {"kind": "timm_image", "architecture": "test_resnet"}},
        "filter": {"train_size": 4, "slice_size": 2},
        "evaluators": {"linear": {"kind": "linear"}},
        "seeds": [0],
    }


def test_few_images_are_read_whole(images: dict[str, Any]) -> None:
    data = preview_data(parse_spec(images))
    assert data.complete
    assert data.rows == {"train": 24, "test": 8}
    assert data.content["files"] == 32
    assert all(image["sha256"] for image in data.raw.examples.table["image"].to_pylist())


def test_many_images_are_counted_and_the_first_are_read(
    images: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_preview, "MOST_IMAGES", 31)
    monkeypatch.setattr(data_preview, "FIRST_ROWS", 6)
    spec = parse_spec({**images, "limit": {"test": 5}})
    data = preview_data(spec)
    assert not data.complete
    assert data.content == {}
    assert len(data.raw.examples) == 6 + 5
    assert set(data.raw.examples.labels.tolist()) == {0, 1}
    assert data.rows == {"train": 24, "test": 5}
    plan = preview_plan(spec, data, preview_challenges(spec, data))
    assert (plan.warmup_rows, plan.pool_rows, plan.embedded_rows) == (6, 18 + 5, 18 + 5)


def _hub(**changes: Any) -> DatasetSpec:
    source = {"format": "hub", "id": "some/pairs", "revision": COMMIT, "splits": {"train": "train", "test": "test"}}
    model = {"kind": "small_transformer"}
    return parse_spec(
        {
            "name": "far",
            "source": source,
            "columns": {"text": "text"},
            "representations": {"small": model},
            "evaluators": {"linear": {"kind": "linear"}},
            **changes,
        }
    )


@pytest.fixture
def large_hub(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """A hub that says it has 300,000 train rows and gives the first ones; returns how many were asked for."""
    asked: list[int | None] = []

    def load(source: Any, *, rows: int | None = None) -> dict[str, pa.Table]:
        asked.append(rows)
        texts = [f"word{number} {number % 2}" for number in range(rows or 0)]
        table = pa.table({"text": texts, "label": [number % 2 for number in range(rows or 0)]})
        return dict.fromkeys(source.splits, table)

    counts = {"train": 300_000, "test": 2_000}
    monkeypatch.setattr(
        "aflite_assets.data.hub.datasets.row_counts", lambda source: {split: counts[split] for split in source.splits}
    )
    monkeypatch.setattr(raw_dataset, "load_source", load)
    return asked


def test_a_large_hub_dataset_is_planned_by_its_counts(large_hub: list[int | None]) -> None:
    spec = _hub(limit={"train": 50_000})
    data = preview_data(spec)
    assert large_hub == [1_000]
    assert data.content == {"commit": COMMIT}
    assert data.rows == {"train": 50_000, "test": 2_000}
    plan = preview_plan(spec, data, preview_challenges(spec, data))
    assert (plan.warmup_rows, plan.pool_rows) == (5_000, 47_000)
    assert plan.settings.target_size == 22_500


def test_the_most_that_auto_may_spend_is_planned_with(large_hub: list[int | None]) -> None:
    spec = _hub(limit={"train": 50_000}, warmup={"size": "auto"})
    data = preview_data(spec)
    plan = preview_plan(spec, data, preview_challenges(spec, data))
    assert plan.curve == CurveSizes((500, 1_000, 2_000, 4_000, 8_000), 1_000)
    assert (plan.warmup_rows, plan.pool_rows, plan.settings.train_size) == (9_000, 43_000, 9_000)


def test_splits_held_out_of_a_large_train_split_are_counted(large_hub: list[int | None]) -> None:
    source = {"format": "hub", "id": "some/pairs", "revision": COMMIT, "splits": {"train": "train"}}
    data = preview_data(_hub(source=source, holdout={"dev": 10_000, "test": 0.1}))
    assert data.rows == {"train": 260_000, "dev": 10_000, "test": 30_000}
    assert set(data.raw.examples.table["split"].to_pylist()) == {"train", "dev", "test"}


def test_a_size_that_a_large_dataset_cannot_meet_is_refused(large_hub: list[int | None]) -> None:
    spec = _hub(filter={"target_size": 280_000})
    data = preview_data(spec)
    with pytest.raises(DataError, match=r"`filter\.target_size` is 280,000, but there are only 270,000 train rows"):
        preview_plan(spec, data, preview_challenges(spec, data))


def test_rows_of_a_hub_that_says_no_number_are_those_read(
    large_hub: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aflite_assets.data.hub.datasets.row_counts", lambda source: None)
    spec = _hub()
    data = preview_data(spec)
    assert (data.complete, data.rows) == (False, None)
    assert preview_plan(spec, data, preview_challenges(spec, data)).rows == {"train": 1_000, "test": 1_000}


def _pairs(folder: Path, challenges: dict[str, Any]) -> DatasetSpec:
    for name, labels in (("train", "abc"), ("test", "abc"), ("odd", "xyy")):
        lines = [f"{name} {number},{labels[number % 3]},k{number % 2}" for number in range(30)]
        (folder / f"{name}.csv").write_text("\n".join(["text,label,kind", *lines]) + "\n")
    return parse_spec(
        {
            "name": "pairs",
            "source": {"format": "csv", "splits": {s: str(folder / f"{s}.csv") for s in ("train", "test")}},
            "columns": {"text": "text"},
            "representations": {"small": {"kind": "small_transformer"}},
            "evaluators": {"linear": {"kind": "linear"}},
            "challenge_sets": challenges,
        }
    )


def _challenge(folder: Path, file: str, **fields: Any) -> dict[str, Any]:
    source = {"format": "csv", "splits": {"test": str(folder / file)}}
    mapped = {"a": "x", "b": "y", "c": None}
    return {"source": source, "columns": {"text": "text"}, "map": mapped, "category": "kind", **fields}


def test_challenge_sets_say_what_counts_as_what(tmp_path: Path) -> None:
    spec = _pairs(tmp_path, {"odd": _challenge(tmp_path, "odd.csv", limit=20)})
    challenges = preview_challenges(spec, preview_data(spec))
    (odd,) = challenges.read
    assert odd.label_mapping == {"a": "x", "b": "y", "c": None}
    assert (odd.rows, odd.complete) == (20, True)
    assert challenges.missing == {}


def test_a_missing_challenge_set_is_left_out_only_where_it_may_be(tmp_path: Path) -> None:
    spec = _pairs(tmp_path, {"gone": _challenge(tmp_path, "gone.csv", required=False)})
    challenges = preview_challenges(spec, preview_data(spec))
    assert challenges.read == ()
    assert "gone.csv" in challenges.missing["gone"]
    spec = _pairs(tmp_path, {"gone": _challenge(tmp_path, "gone.csv")})
    with pytest.raises(MissingDataError, match=r"gone\.csv"):
        preview_challenges(spec, preview_data(spec))


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            [0, 99],
            r"`report\.scatter_features` is \[0, 99\], but the rows have 10 features; choose two numbers from 0 to 9",
        )
    ],
)
def test_scatter_columns_that_are_not_there_are_refused(
    circles_content: dict[str, Any], chosen: list[int], message: str
) -> None:
    spec = parse_spec({**circles_content, "report": {"scatter_features": chosen}})
    data = preview_data(spec)
    with pytest.raises(DataError, match=message):
        preview_plan(spec, data, preview_challenges(spec, data))


def test_scatter_columns_are_for_features(images: dict[str, Any]) -> None:
    spec = parse_spec({**images, "report": {"scatter_features": [0, 1]}})
    data = preview_data(spec)
    with pytest.raises(DataError, match=r"but the rows of this dataset are of type `image`; leave out this setting"):
        preview_plan(spec, data, preview_challenges(spec, data))


def test_weak_models_that_cannot_read_the_data_are_refused(images: dict[str, Any]) -> None:
    spec = parse_spec({**images, "forgettables": {"bow": {"model": {"kind": "siamese_bag"}}}})
    data = preview_data(spec)
    with pytest.raises(ModelError, match=r"^`forgettables\.bow\.model`: "):
        preview_plan(spec, data, preview_challenges(spec, data))
