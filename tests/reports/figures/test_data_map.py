"""The data map's picture: colours of both sides, and words for those who do not see it."""

import io

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from aflite_assets.analysis.inputs.records import DataMap
from aflite_assets.analysis.rows.measured import data_map_means
from aflite_assets.reports.figures.drawing import MAX_BYTES, Picture
from aflite_assets.reports.figures.representation_figures import data_map
from tests.planted_reports import hand_written_benchmark


def table_of(rows: int) -> pa.Table:
    """Removed rows are confident and steady, kept ones neither; the last never entered the filter."""
    removed = np.arange(rows) % 2 == 0
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "guid": [f"s{row}" for row in range(rows)],
            "index": np.arange(rows),
            "confidence": np.where(removed, 0.8, 0.1) + 0.2 * rng.random(rows),
            "variability": np.where(removed, 0.0, 0.2) + 0.2 * rng.random(rows),
            "correctness": np.where(removed, 1.0, 0.5),
            "row_id": np.arange(rows),
            "kept": pa.array([*~removed[:-1], None], pa.bool_()),
        }
    )


def coloured(png: bytes) -> tuple[float, float]:
    """The shares of bluish and of orange pixels, see-through ones over white among them."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).reshape(-1, 3).astype(int)
    difference = pixels[:, 2] - pixels[:, 0]
    return float((difference > 60).mean()), float((difference < -60).mean())


def picture_of(table: pa.Table, *, seeds: int = 1, epochs: int = 1) -> Picture:
    """The picture made as for a report, from the means that `analysis` computes."""
    data = hand_written_benchmark(data_maps=(DataMap("net", "given", seeds, epochs, table),))
    kept, removed = data_map_means(data)
    return data_map(kept, removed, table)


@pytest.mark.parametrize("rows", [41, 8_001])
def test_both_sides_are_drawn_and_said(rows: int) -> None:
    picture = picture_of(table_of(rows), seeds=3, epochs=5)
    assert len(picture.png) < MAX_BYTES
    legend = picture_of(table_of(rows).slice(0, 0)).png
    for drawn, in_legend in zip(coloured(picture.png), coloured(legend), strict=True):
        assert drawn > 1.5 * in_legend > 0
    sampled = ", a random sample of 3,000" if rows > 3_000 else ""
    shown = f"Data map of net trained on full, {rows - 1:,} train rows{sampled}, confidence against variability over 5 "
    assert picture.alt.startswith(f"{shown}epochs, mean of 3 seeds, representation given. Kept rows")
    assert "and correctness 0.50. Removed rows have mean confidence 0." in picture.alt
    assert picture.alt.endswith("and correctness 1.00")


def test_the_same_rows_are_drawn_again() -> None:
    assert picture_of(table_of(4_001)).png == picture_of(table_of(4_001)).png


def test_a_map_without_removed_rows_says_none() -> None:
    kept = table_of(9).set_column(6, "kept", pa.array([True] * 9))
    assert "Removed rows have mean confidence none" in picture_of(kept).alt
