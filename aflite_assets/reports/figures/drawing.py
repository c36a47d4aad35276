"""Helpers that all figures share: the palette, empty figures, panels, and conversion to a PNG of limited size."""

import io
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL import Image

MAX_BYTES = 50_000
"""Largest size of a figure in bytes, so that Dagster can show it inside metadata."""

# Okabe and Ito's palette (2008), told apart with every common colour blindness
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
VERMILION, SKY, GREY, INK = "#D55E00", "#56B4E9", "#5F6B76", "#17212b"
SERIES_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY)
SERIES_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
THOUSANDS = "{x:,.0f}"  # format of tick labels
DPI = 110
_PAD = 7  # pixels around panels


@dataclass(frozen=True)
class Picture:
    """A PNG file of at most `MAX_BYTES`, and a text that describes the picture for readers who do not see it."""

    png: bytes
    alt: str


def columns(records: Sequence[object], *names: str) -> list[np.ndarray]:
    """Return fields of records as arrays, one array per field name."""
    return [np.array([getattr(one, name) for one in records]) for name in names]


def series_style(number: int) -> dict[str, Any]:
    """Return the colour and the marker of a series. `number`: position of the series, counted from 0."""
    colour, marker = SERIES_COLOURS[number % len(SERIES_COLOURS)], SERIES_MARKERS[number % len(SERIES_MARKERS)]
    return {"color": colour, "marker": marker}


def new_figure(width: float, height: float, *, layout: Literal["constrained"] | None = None) -> "Figure":
    """Return an empty figure of the given width and height (in inches), with the resolution `DPI`.

    Use the layout "constrained" if matplotlib, and not the function `picture`, places the panels.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def new_axes(*, width: float = 5.6, height: float = 3.5) -> tuple["Figure", "Axes"]:
    """Return a figure of the given width and height (in inches) with one panel."""
    figure = new_figure(width=width, height=height)
    return figure, figure.subplots()


def new_panels(
    number: int, most_across: int, *, size: tuple[float, float], margin: tuple[float, float], **shared: Any
) -> tuple["Figure", np.ndarray]:
    """Return a figure and its grid of panels. The first `number` panels are visible.

    `size`: width and height of one panel, in inches. `margin`: additional width and height of the whole figure.
    """
    across = max(min(number, most_across), 1)
    down = max(-(-number // across), 1)
    figure = new_figure(width=size[0] * across + margin[0], height=size[1] * down + margin[1])
    panels = figure.subplots(down, across, squeeze=False, **shared)
    for panel in panels.flat[number:]:
        panel.set_visible(False)
    return figure, panels


def draw_bars(
    axes: "Axes",
    low: np.ndarray,
    high: np.ndarray,
    height: np.ndarray,
    *,
    bottom: np.ndarray | float = 0.0,
    **style: Any,
) -> None:
    """Draw bars from `low` to `high` as one collection, which is much faster than drawing each bar separately.

    The axis limits are left unchanged.
    """
    from matplotlib.collections import PolyCollection

    under = np.broadcast_to(bottom, low.shape)
    corners = np.array([(low, under), (high, under), (high, under + height), (low, under + height)])
    axes.add_collection(PolyCollection(list(corners.transpose(2, 0, 1)), edgecolors="white", **style), autolim=False)


def whole_ticks(axes: "Axes") -> None:
    """Place the ticks of the horizontal axis only at whole numbers, because the axis counts iterations."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def picture(figure: "Figure", alt: str, *, legend: "Axes | None" = None, grid: bool = True, **style: Any) -> Picture:
    """Return the drawn figure as an RGB PNG of at most `MAX_BYTES`, with fewer colours if necessary.

    `grid`: draw a grid behind the data. `legend`: the panel whose series are listed in a legend below the figure.
    `style`: the style of the legend. All texts are drawn literally: a dollar sign does not begin a formula.
    """
    from matplotlib.text import Text
    from PIL import Image

    if legend is not None:
        figure.legend(*legend.get_legend_handles_labels(), loc="lower center", frameon=False, **style)
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)
    for axes in figure.axes if grid else ():
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)
    with warnings.catch_warnings():
        # a letter that no font has is drawn as a box, so no warning is needed
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
        if figure.get_layout_engine() is None:
            _fit_panels(figure)
        figure.canvas.draw()  # once; savefig draws twice, and its PNG would have to be decoded
    image = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")  # type: ignore[attr-defined]
    packed = _packed(image)
    for colours in (256, 128, 64, 32, 16, 4):
        if len(packed) < MAX_BYTES:
            break
        packed = _packed(image.quantize(colours))
    return Picture(packed, alt)


def _fit_panels(figure: "Figure") -> None:
    """Place the panels of a figure so that titles, labels and the legend have enough space."""
    rows, columns = figure.axes[0].get_subplotspec().get_gridspec().get_geometry()  # type: ignore[union-attr]
    beside = np.zeros((4, max(rows, columns)))  # pixels left and right of columns, and below and above rows
    for axes in figure.axes:
        place, texts = axes.get_subplotspec(), axes.get_tightbbox(for_layout_only=True)
        if place is not None and texts is not None:
            cell = axes.get_position(original=True).transformed(figure.transFigure)
            at = (range(4), (*2 * (place.colspan.start,), *2 * (place.rowspan.start,)))
            over = (cell.x0 - texts.x0, texts.x1 - cell.x1, cell.y0 - texts.y0, texts.y1 - cell.y1)
            beside[at] = np.maximum(beside[at], over)
    (left, right), (below, above) = (beside + _PAD)[:2, :columns], (beside + _PAD)[2:, :rows]
    for text, extent in ((text, text.get_window_extent()) for text in figure.texts):
        if text.get_rotation():
            left[0] += extent.x1
        else:
            above[0] += figure.bbox.height - extent.y0
    below[-1] += sum(legend.get_window_extent().height for legend in figure.legends)
    for (start, end, space), before, after, size in (
        (("left", "right", "wspace"), left, right, figure.bbox.width),
        (("bottom", "top", "hspace"), below[::-1], above[::-1], figure.bbox.height),
    ):
        gap = (after[:-1] + before[1:]).max(initial=0)
        panel = (size - before[0] - after[-1] + gap) / len(before) - gap
        if panel > 0:
            figure.subplots_adjust(**{start: before[0] / size, end: 1 - after[-1] / size, space: gap / panel})


def _packed(image: "Image.Image") -> bytes:
    """Return the image as the bytes of a PNG file.

    The compression level and strategy are chosen for charts: files are as small as with `optimize=True`, but are
    written four times faster.
    """
    packed = io.BytesIO()
    image.save(packed, format="png", compress_level=6, compress_type=zlib.Z_DEFAULT_STRATEGY)
    return packed.getvalue()
