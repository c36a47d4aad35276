"""Figures of one filtered set as PNG: filtering curve, histogram, scatter, image grid, similarity maps. Several:
`filtering_figures`."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aflite_assets.analysis.filtering import FilterRow, PredictabilityBin
from aflite_assets.analysis.inputs.similarity import ClassSimilarity, MeanSimilarity, SimilarityBlock
from aflite_assets.reports.figures.drawing import (
    BLUE,
    DPI,
    GREY,
    ORANGE,
    SERIES_COLOURS,
    SERIES_MARKERS,
    VERMILION,
    literal,
    new_figure,
    png,
    thousands,
    whole_ticks,
)
from aflite_assets.text import one_line
from aflite_assets.wording import counted, truncate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_POINTS = 2_000

_COLOURS = "cividis"
"""Made to look alike with and without red-green blindness (Nuñez et al. 2018)."""


def filtering_curve(iterations: Sequence[FilterRow]) -> bytes:
    """Representation bias (with the largest class's share) above, pool rows left below, by iteration."""
    figure = new_figure(height=4.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    places = [row.iteration for row in iterations]
    bias = [100 * row.representation_bias for row in iterations]
    upper.plot(places, bias, color=BLUE, marker="o", ms=4, label="representation bias")
    upper.plot(places, [100 * row.largest_class for row in iterations], color=GREY, ls="--", label="largest class")
    upper.set(ylabel="predictable rows (%)", ylim=(0, 102))
    upper.legend(frameon=False, loc="best", fontsize=9)
    lower.step(places, [row.rows_in for row in iterations], color=VERMILION, where="post")
    lower.set(xlabel="iteration", ylabel="pool rows left")
    lower.set_ylim(bottom=0)
    lower.yaxis.set_major_formatter(thousands)
    whole_ticks(lower)
    return png(figure)


def predictability_histogram(bins: Sequence[PredictabilityBin]) -> bytes:
    """Last known predictability of the train rows, kept stacked on removed; rows without a score are left out."""
    figure = new_figure()
    axes = figure.subplots()
    low, kept, removed = ([getattr(one, name) for one in bins] for name in ("low", "kept", "removed"))
    style: dict[str, Any] = {"align": "edge", "edgecolor": "white", "linewidth": 0.6}
    style["width"] = [one.high - one.low for one in bins]
    axes.bar(low, removed, color=ORANGE, hatch="///", label=f"removed ({sum(removed):,})", **style)
    axes.bar(low, kept, bottom=removed, color=BLUE, label=f"kept ({sum(kept):,})", **style)
    axes.set(xlabel="predictability (share of held-out predictions that were right)", ylabel="train rows", xlim=(0, 1))
    axes.set_ylim(0, 1.08 * max(1, *(one.kept + one.removed for one in bins)))
    axes.yaxis.set_major_formatter(thousands)
    axes.legend(frameon=False, fontsize=9)
    return png(figure)


def scatter(
    points: np.ndarray,
    labels: np.ndarray,
    label_names: Sequence[str],
    *,
    title: str,
    axis_names: tuple[str, str],
    limits: tuple[float, float, float, float] | None = None,
    notes: Sequence[str] = (),
) -> bytes:
    """Points (rows x 2) coloured and marked by class, every n-th beyond 2,000; `limits`: x0, x1, y0, y1.

    `notes`: lines under the title. Both axes have one scale where their lengths differ by a factor of two at most.
    """
    figure = new_figure(height=4.2 + 0.17 * len(notes), width=4.5)
    axes = figure.subplots()
    _scatter_into(axes, points, labels, label_names, limits or scatter_limits(points))
    axes.set(xlabel=one_line(axis_names[0]), ylabel=one_line(axis_names[1]))
    figure.suptitle(title, fontsize=12)
    axes.set_title("\n".join(notes), fontsize=9)
    _class_legend(figure, axes)
    literal(figure)
    return png(figure)


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
    from aflite_assets.reports.figures.thumbnails import square_pixels

    n_rows = max(1, -(-len(images) // columns))
    figure = new_figure(width=columns * (side + 12) / DPI, height=n_rows * (side + 34) / DPI)
    for place, axes in enumerate(figure.subplots(n_rows, columns, squeeze=False).flat):
        axes.set_axis_off()
        if place >= len(images):
            continue
        pixels = square_pixels(images[place], side)
        if pixels is None:
            axes.plot([0, 1, np.nan, 0, 1], [0, 1, np.nan, 1, 0], color=GREY)
        else:
            axes.imshow(pixels)
        axes.set_title(truncate(one_line(captions[place]), 14), fontsize=7, y=-0.28, parse_math=False)
    return png(figure)


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
            "color": SERIES_COLOURS[c % 6],
            "marker": SERIES_MARKERS[c % 8],
            "s": 14,
            "alpha": 0.75,
            "lw": 0,
        }
        axes.scatter(*points[labels == c].T, label=truncate(one_line(name), 24), **style)
    axes.axis(limits)
    if 0.5 <= (limits[3] - limits[2]) / (limits[1] - limits[0]) <= 2:
        axes.set_aspect("equal")


def _class_legend(figure: "Figure", axes: "Axes") -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)


def similarity_map(one: ClassSimilarity, *, scale_with: Sequence[ClassSimilarity]) -> bytes:
    """The blocks of one class side by side, a cell per pair of rows; one colour scale for all of `scale_with`."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    figure = new_figure(width=8.6, height=3.1)
    scale = Normalize(lowest_similarity(scale_with), 1)
    axes = figure.subplots(1, len(one.blocks), squeeze=False)[0]
    for place, block in zip(axes, one.blocks, strict=True):
        side = len(block.row_ids)
        place.imshow(block.similarities, cmap=_COLOURS, norm=scale, interpolation="nearest", aspect="equal")
        place.set_title(_title(block), fontsize=10)
        place.set(xticks=(0, side - 1), yticks=(0, side - 1))
        place.set(xticklabels=("1", str(side)), yticklabels=("1", str(side)), xlabel="row shown")
        place.tick_params(length=0)
    bar = figure.colorbar(ScalarMappable(scale, _COLOURS), ax=list(axes), shrink=0.85, pad=0.015)
    bar.set_label("cosine similarity")
    figure.suptitle(f"Class {truncate(one_line(one.name), 60)}", fontsize=12, parse_math=False)
    return png(figure, grid=False)


def lowest_similarity(classes: Sequence[ClassSimilarity]) -> float:
    """Where the colour scale of all blocks begins: their lowest similarity of two rows, a multiple of 0.1 below it."""
    lowest = min(
        (float(block.similarities.min(initial=1)) for class_ in classes for block in class_.blocks), default=0.0
    )
    return max(float(np.floor(10 * min(lowest, 0.9)) / 10), -1.0)


def means_text(means: Iterable[MeanSimilarity]) -> str:
    """Mean similarities of a class in words, with the rows that they are over."""
    return ", ".join(f"{one.side} {_similarity_text(one.mean)} ({_rows_text(one)})" for one in means)


def _title(block: SimilarityBlock) -> str:
    return f"{block.side}: mean {_similarity_text(block.mean)}"


def _similarity_text(similarity: float) -> str:
    """A similarity with three decimals and a true minus sign; what rounds to zero has no sign."""
    return f"{round(similarity, 3) + 0.0:.3f}".replace("-", "\N{MINUS SIGN}")


def _rows_text(one: MeanSimilarity) -> str:
    if one.used_rows == one.rows:
        return counted(one.rows, "row")
    return f"{one.used_rows:,} of {counted(one.rows, 'row')}"
