"""The data map's record and picture: columns, colours of both sides, words for those who do not see it."""

import io

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from aflite_assets.analysis.inputs.data_map import DataMap
from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.figures.data_map import data_map_picture
from aflite_assets.reports.figures.drawing import MAX_BYTES


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


@pytest.mark.parametrize("rows", [41, 8_001])
def test_both_sides_are_drawn_and_said(rows: int) -> None:
    picture = data_map_picture(DataMap("net", "given", 3, 5, table_of(rows)))
    assert len(picture.png) < MAX_BYTES
    legend = data_map_picture(DataMap("net", "given", 3, 5, table_of(rows).slice(0, 0))).png
    for drawn, in_legend in zip(coloured(picture.png), coloured(legend), strict=True):
        assert drawn > 1.5 * in_legend > 0
    sampled = ", a random sample of 3,000" if rows > 3_000 else ""
    shown = f"Data map of net trained on full, {rows - 1:,} train rows{sampled}, confidence against variability over 5 "
    assert picture.alt.startswith(f"{shown}epochs, mean of 3 seeds, representation given. Kept rows")
    assert "and correctness 0.50. Removed rows have mean confidence 0." in picture.alt
    assert picture.alt.endswith("and correctness 1.00")


def test_the_same_rows_are_drawn_again() -> None:
    one = DataMap("net", "given", 1, 1, table_of(4_001))
    assert data_map_picture(one).png == data_map_picture(one).png


def test_a_map_without_removed_rows_says_none() -> None:
    table = table_of(9)
    kept = table.set_column(6, "kept", pa.array([True] * 9))
    one = DataMap("net", "given", 1, 1, kept)
    assert one.mean("confidence", kept=False) is None
    assert "Removed rows have mean confidence none" in data_map_picture(one).alt


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"data map of 'net': the table lacks \['guid'\]"):
        DataMap("net", "given", 1, 1, table_of(5).drop_columns(["guid"]))
