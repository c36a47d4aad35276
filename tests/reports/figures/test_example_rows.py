import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.source_rows import SOURCE_PLACES, SourceRows
from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.errors import DataError
from aflite_assets.reports.figures.example_rows import example_images, shown_examples, shown_rows


def test_both_sides_are_told_apart(planted: BenchmarkData) -> None:
    filtered = planted.filtered[0].rows
    kept = shown_examples(planted.examples, filtered, kept=True, seed=0)
    removed = shown_examples(planted.examples, filtered, kept=False, seed=0)
    assert len(kept) == len(removed) == 8
    assert all(example.row_id >= 798 and example.removed_in_iteration is None for example in kept)
    assert all(example.removed_in_iteration == example.row_id // 114 for example in removed)
    text = planted.examples.texts()
    assert all(e.texts is not None and e.texts[0] == text[e.row_id] for e in (*kept, *removed))


def test_examples_say_where_they_stand(planted: BenchmarkData) -> None:
    ids = np.arange(1400)
    lines = pa.array(ids + 2, mask=ids >= 1000)
    files = pa.array(["my.csv"] * 1400, mask=ids >= 1200)
    source = SourceRows(pa.table([ids, ["train"] * 1400, ids, files, lines], schema=SOURCE_PLACES))
    filtered = planted.filtered[0].rows
    for example in shown_examples(planted.examples, filtered, kept=False, seed=0, source=source):
        assert example.place == f"my.csv, line {example.row_id + 2}"
    shown = shown_rows(planted.examples, filtered, [3, 1100], source)
    assert [example.place for example in shown] == ["my.csv, line 5", "my.csv (train, source row 1100)"]
    assert {example.place for example in shown_examples(planted.examples, filtered, kept=True, seed=0)} == {""}


def test_classes_come_in_turn_and_the_seed_decides(planted: BenchmarkData) -> None:
    filtered = planted.filtered[0].rows
    shown = shown_examples(planted.examples, filtered, kept=True, seed=1, most=9)
    assert Counter(example.label for example in shown) == dict.fromkeys(planted.label_names, 3)
    assert shown == shown_examples(planted.examples, filtered, kept=True, seed=1, most=9)
    assert shown != shown_examples(planted.examples, filtered, kept=True, seed=2, most=9)


def test_more_wanted_than_there_are(planted: BenchmarkData) -> None:
    assert len(shown_examples(planted.examples, planted.filtered[0].rows, kept=True, seed=0, most=5000)) == 402


def test_long_vectors_are_cut(planted: BenchmarkData, feature_examples: Any) -> None:
    shown = shown_examples(feature_examples(1200, 20), planted.filtered[0].rows, kept=True, seed=0)
    assert shown[0].vector is not None
    assert shown[0].vector.endswith(", … (20 values))")
    assert shown[0].vector.count(",") == 8


def test_long_texts_are_cut_and_missing_pairs_left_out(planted: BenchmarkData) -> None:
    table = pa.table(
        {
            "row_id": np.arange(1200),
            "label": np.arange(1200) % 3,
            "text": ["x" * 1000] * 1200,
            "text_pair": pa.array([None] * 1200, pa.string()),
        }
    )
    shown = shown_examples(Examples(table, planted.label_names), planted.filtered[0].rows, kept=True, seed=0)
    assert shown[0].texts == ("x" * 299 + "…",)


def test_images_become_data_uris(planted: BenchmarkData, image_examples: Any) -> None:
    examples = image_examples(1200)
    shown = shown_examples(examples, planted.filtered[0].rows, kept=False, seed=0, most=6)
    assert all(example.image is not None and example.image.startswith("data:image/jpeg") for example in shown)
    assert example_images(examples, shown)[0] == examples.image_bytes(shown[0].row_id)


def test_a_lost_image_says_so(planted: BenchmarkData, tmp_path: Path) -> None:
    lost = {"bytes": None, "path": str(tmp_path / "gone.png"), "sha256": hashlib.sha256(b"").hexdigest()}
    table = pa.table(
        {
            "row_id": np.arange(1200),
            "label": np.arange(1200) % 3,
            "image": pa.array([lost] * 600 + [{"bytes": b"junk", "path": None, "sha256": None}] * 600, IMAGE_TYPE),
        }
    )
    examples = Examples(table, planted.label_names)
    removed = shown_examples(examples, planted.filtered[0].rows, kept=False, seed=0, most=30)
    early = next(example for example in removed if example.row_id < 600)
    late = next(example for example in removed if example.row_id >= 600)
    assert early.problem is not None
    assert "gone.png' cannot be read" in early.problem
    assert late.problem == "the image cannot be decoded"
    assert example_images(examples, (early,)) == [b""]


def test_rows_missing_from_the_examples_are_an_error(planted: BenchmarkData, feature_examples: Any) -> None:
    with pytest.raises(DataError, match="row ids are not in this table"):
        shown_examples(feature_examples(10), planted.filtered[0].rows, kept=True, seed=0)
