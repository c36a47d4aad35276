"""Figures as PNG bytes, each under 50 kB: filtering curve, histogram, scatter, image grid; no shared state."""

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from aflite_assets.reports.records import FilteredSet
from aflite_assets.reports.summary import chance_by_iteration
from aflite_assets.reports.tables import filter_table
from aflite_assets.reports.text import one_line, truncated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_BYTES = 50_000
"""No figure is larger, so that Dagster can show it inside metadata."""

# Okabe and Ito's palette (2008), told apart with every common colour blindness
BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#5F6B76",
)
CLASS_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY)
_CLASS_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
_MAX_POINTS = 2_000
_WIDTH, _HEIGHT, _DPI = 5.6, 3.5, 110


def filtering_curve(filtered: FilteredSet) -> bytes:
    """Representation bias (with the chance line) above, pool rows left below, by iteration."""
    table, chance = filter_table(filtered), chance_by_iteration(filtered)
    figure = _figure(height=4.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    iterations = [row.iteration for row in table]
    bias = [100 * row.representation_bias for row in table]
    upper.plot(iterations, bias, color=BLUE, marker="o", ms=4, label="representation bias")
    upper.plot(iterations, [100 * c for c in chance], color=GREY, ls="--", label="chance: most frequent class")
    upper.set(ylabel="predictable rows (%)", ylim=(0, 102))
    upper.legend(frameon=False, loc="best", fontsize=9)
    lower.step(iterations, [row.rows_in for row in table], color=VERMILION, where="post")
    lower.set(xlabel="iteration", ylabel="pool rows left")
    lower.set_ylim(bottom=0)
    lower.yaxis.set_major_formatter(_thousands)
    lower.xaxis.get_major_locator().set_params(integer=True)
    return _png(figure)


def predictability_histogram(filtered: FilteredSet, *, bins: int = 20) -> bytes:
    """Last known predictability of the train rows, kept stacked on removed; rows without a score are left out."""
    edges, kept, removed = predictability_counts(filtered, bins=bins)
    figure = _figure()
    axes = figure.subplots()
    style: dict[str, Any] = {"width": np.diff(edges), "align": "edge", "edgecolor": "white", "linewidth": 0.6}
    axes.bar(edges[:-1], removed, color=ORANGE, hatch="///", label=f"removed ({removed.sum():,})", **style)
    axes.bar(edges[:-1], kept, bottom=removed, color=BLUE, label=f"kept ({kept.sum():,})", **style)
    axes.set(xlabel="predictability (share of held-out predictions that were right)", ylabel="train rows", xlim=(0, 1))
    axes.set_ylim(0, 1.08 * max(1, int((kept + removed).max())))
    axes.yaxis.set_major_formatter(_thousands)
    axes.legend(frameon=False, fontsize=9)
    return _png(figure)


def predictability_counts(filtered: FilteredSet, *, bins: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bin edges in [0, 1], and the train rows kept and removed in each bin, int64."""
    rows = filtered.rows.filter(
        pc.and_(pc.equal(filtered.rows["split"], "train"), pc.is_finite(filtered.rows["predictability"]))
    )
    scores, kept = rows["predictability"].to_numpy(), rows["kept"].to_numpy(zero_copy_only=False)
    edges = np.linspace(0, 1, bins + 1)
    return edges, np.histogram(scores[kept], edges)[0], np.histogram(scores[~kept], edges)[0]


def scatter(
    points: np.ndarray,
    labels: np.ndarray,
    label_names: Sequence[str],
    *,
    title: str,
    axis_names: tuple[str, str],
    limits: tuple[float, float, float, float] | None = None,
) -> bytes:
    """Points (rows x 2) coloured and marked by class, every n-th beyond 2,000; `limits`: x0, x1, y0, y1."""
    figure = _figure(height=4.2, width=4.5)
    axes = figure.subplots()
    _scatter_into(axes, points, labels, label_names, limits or scatter_limits(points))
    axes.set(title=title, xlabel=one_line(axis_names[0]), ylabel=one_line(axis_names[1]))
    _class_legend(figure, axes)
    return _png(figure)


def scatter_limits(points: np.ndarray) -> tuple[float, float, float, float]:
    """x0, x1, y0, y1 around all points (rows x 2) with a margin of 5 %."""
    if not len(points):
        return (0.0, 1.0, 0.0, 1.0)
    low, high = points.min(axis=0).astype(float), points.max(axis=0).astype(float)
    margin = np.where(high > low, 0.05 * (high - low), 0.5)
    (x0, y0), (x1, y1) = low - margin, high + margin
    return (x0, x1, y0, y1)


def image_grid(images: Sequence[bytes], captions: Sequence[str], *, columns: int = 8, side: int = 72) -> bytes:
    """Thumbnails in rows of `columns`, each over its caption; an unreadable image is a crossed-out square."""
    from aflite_assets.reports.thumbnails import square_pixels

    n_rows = max(1, -(-len(images) // columns))
    figure = _figure(width=columns * (side + 12) / _DPI, height=n_rows * (side + 34) / _DPI)
    for place, axes in enumerate(figure.subplots(n_rows, columns, squeeze=False).flat):
        axes.set_axis_off()
        if place >= len(images):
            continue
        pixels = square_pixels(images[place], side)
        if pixels is None:
            axes.plot([0, 1, np.nan, 0, 1], [0, 1, np.nan, 1, 0], color=GREY)
        else:
            axes.imshow(pixels)
        axes.set_title(truncated(one_line(captions[place]), 14), fontsize=7, y=-0.28, parse_math=False)
    return _png(figure)


def _scatter_into(
    axes: "Axes",
    points: np.ndarray,
    labels: np.ndarray,
    label_names: Sequence[str],
    limits: tuple[float, float, float, float],
) -> None:
    step = max(1, -(-len(points) // _MAX_POINTS))
    points, labels = points[::step], labels[::step]
    for c, name in enumerate(label_names):
        style: dict[str, Any] = {
            "color": CLASS_COLOURS[c % 6],
            "marker": _CLASS_MARKERS[c % 8],
            "s": 14,
            "alpha": 0.75,
            "lw": 0,
        }
        axes.scatter(*points[labels == c].T, label=truncated(one_line(name), 24), **style)
    axes.axis(limits)


def _class_legend(figure: "Figure", axes: "Axes") -> None:
    legend = figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _figure(*, width: float = _WIDTH, height: float = _HEIGHT) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _thousands(value: float, _position: float) -> str:
    return f"{value:,.0f}"


def _png(figure: "Figure") -> bytes:
    from PIL import Image

    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)
    drawn = io.BytesIO()
    with warnings.catch_warnings():
        # a letter that no font has is drawn as a box, which says enough
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
        figure.savefig(drawn, format="png")
    image = Image.open(drawn).convert("RGB")
    packed = io.BytesIO()
    image.save(packed, format="png", optimize=True)
    for colours in (256, 64, 16, 4):
        if packed.tell() < MAX_BYTES:
            break
        packed = io.BytesIO()
        image.quantize(colours).save(packed, format="png", optimize=True)
    return packed.getvalue()
