"""What all figures share: palette, an empty figure, PNG bytes under a limit. No figure of its own, no shared state."""

import io
import warnings
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL import Image

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
SERIES_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY)
SERIES_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
DPI = 110
_WIDTH, _HEIGHT = 5.6, 3.5


@dataclass(frozen=True)
class Picture:
    """A PNG under `MAX_BYTES` and what it shows, as literal text for those who do not see it."""

    png: bytes
    alt: str


def new_figure(*, width: float = _WIDTH, height: float = _HEIGHT) -> "Figure":
    """An empty figure of this size in inches at `DPI`, known to no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def thousands(value: float, _position: float) -> str:
    """Tick labels with thousands separators."""
    return f"{value:,.0f}"


def whole_ticks(axes: "Axes") -> None:
    """Only whole numbers on the horizontal axis, which counts iterations."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def literal(figure: "Figure") -> None:
    """Show dataset text in legends and titles as it is: a dollar sign begins no formula."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)


def png(figure: "Figure", *, grid: bool = True) -> bytes:
    """The drawn figure as an RGB PNG under `MAX_BYTES`, in fewer colours where it must be; `grid` behind the data."""
    from PIL import Image

    for axes in figure.axes if grid else ():
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)
    with warnings.catch_warnings():
        # a letter that no font has is drawn as a box, which says enough
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
        figure.canvas.draw()  # once; savefig draws twice, and its PNG would have to be decoded
    image = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")  # type: ignore[attr-defined]
    packed = _packed(image)
    for colours in (256, 128, 64, 32, 16, 4):
        if len(packed) < MAX_BYTES:
            break
        packed = _packed(image.quantize(colours))
    return packed


def _packed(image: "Image.Image") -> bytes:
    """PNG bytes. This level and strategy pack charts as small as `optimize=True` does, four times faster."""
    packed = io.BytesIO()
    image.save(packed, format="png", compress_level=6, compress_type=zlib.Z_DEFAULT_STRATEGY)
    return packed.getvalue()
