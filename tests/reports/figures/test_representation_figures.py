import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from aflite_assets.analysis.filtering import filter_table, predictability_counts
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.data.examples import Examples
from aflite_assets.reports.figures import filtering_figures
from aflite_assets.reports.figures import representation_figures as figures
from aflite_assets.reports.figures.drawing import BLUE, GREY, MAX_BYTES, ORANGE, VERMILION

NAMES = ("entailment", "$neutral_{x", "<b>\x00")


def opened(png: bytes) -> np.ndarray:
    assert png.startswith(b"\x89PNG")
    assert len(png) < MAX_BYTES
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def has_colour(pixels: np.ndarray, colour: str) -> bool:
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return bool(np.any(np.abs(pixels.astype(int) - wanted).sum(axis=2) < 12))


def test_filtering_curve_draws_bias_chance_and_rows(planted: BenchmarkData) -> None:
    pixels = opened(filtering_figures.filtering_curve(filter_table(planted.filtered[0]), "").png)
    for colour in (BLUE, GREY, VERMILION):
        assert has_colour(pixels, colour)


def test_histogram_draws_both_sides(planted: BenchmarkData) -> None:
    pixels = opened(filtering_figures.predictability_histogram(predictability_counts(planted.filtered[0])).png)
    assert has_colour(pixels, BLUE)
    assert has_colour(pixels, ORANGE)


def test_nothing_to_draw_is_an_empty_figure(planted: BenchmarkData) -> None:
    f = planted.filtered[0]
    empty = FilteredSet("r", f.iterations.slice(0, 0), "x", (), f.rows.slice(0, 0), {})
    opened(filtering_figures.filtering_curve(filter_table(empty), "").png)
    opened(filtering_figures.predictability_histogram(predictability_counts(empty)).png)
    opened(figures.image_grid([], [], "").png)


@pytest.mark.parametrize("rows", [0, 3, 30_000])
def test_scatter_stays_small_at_any_size(rows: int) -> None:
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(rows, 2)), rng.integers(0, 3, rows)
    train = Examples(pa.table({"label": labels}), NAMES)
    pixels = opened(figures.scatter(train, points, np.ones(rows, bool), ("x", "y\x00"), "Before filtering", ()).png)
    assert has_colour(pixels, BLUE) or rows < 100


def test_scatter_limits_hold_all_points() -> None:
    assert figures.scatter_limits(np.array([[0.0, 5.0], [10.0, 5.0]])) == (-0.5, 10.5, 4.5, 5.5)


def test_grid_of_noise_stays_small_and_shows_broken_images() -> None:
    rng = np.random.default_rng(0)
    images = []
    for _ in range(23):
        buffer = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(buffer, format="png")
        images.append(buffer.getvalue())
    opened(figures.image_grid([*images, b"broken"], [NAMES[i % 3] * 9 for i in range(24)], "").png)


def test_figures_are_the_same_bytes_each_time(planted: Any) -> None:
    rows = filter_table(planted.filtered[0])
    assert filtering_figures.filtering_curve(rows, "") == filtering_figures.filtering_curve(rows, "")
