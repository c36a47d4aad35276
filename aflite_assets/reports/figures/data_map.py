"""The data map (Swayamdipta et al. 2020, Figure 1): variability against confidence, coloured by kept and removed."""

import numpy as np

from aflite_assets.analysis.inputs.data_map import DataMap
from aflite_assets.reports.figures.drawing import BLUE, GREY, ORANGE, Picture, literal, new_figure, png
from aflite_assets.text import count
from aflite_assets.wording import counted

_MOST_POINTS = 3_000
"""Of both sides together; more are a blot."""

_WHITE = {"facecolor": "white", "alpha": 0.7, "lw": 0, "pad": 1}

_REGIONS = (
    (0.01, 0.97, "easy to learn", "top", "left"),
    (0.49, 0.5, "ambiguous", "center", "right"),
    (0.01, 0.03, "hard to learn", "bottom", "left"),
)


def data_map_picture(data_map: DataMap, *, seed: int = 0) -> Picture:
    """The train rows that entered the filter, those of a random sample from `seed` where there are many.

    Kept rows are blue circles, removed ones orange triangles, drawn in random order so that neither covers the other.
    """
    rows = data_map.entered
    kept = rows["kept"].to_numpy(zero_copy_only=False).astype(bool)
    points = np.column_stack([rows["variability"].to_numpy(), rows["confidence"].to_numpy()])
    drawn = np.random.default_rng(seed).permutation(len(points))[:_MOST_POINTS]
    figure = new_figure(height=4.2)
    axes = figure.subplots()
    order = 2 + np.arange(len(drawn)) * 8 // max(len(drawn), 1)  # eight layers of both sides
    for layer in np.unique(order).tolist():
        for side, colour, marker in ((True, BLUE, "o"), (False, ORANGE, "^")):
            chosen = drawn[(order == layer) & (kept[drawn] == side)]
            x, y = points[chosen].T
            axes.scatter(x, y, color=colour, marker=marker, s=11, alpha=0.6, lw=0, zorder=layer)
    for side, colour, marker, name in ((True, BLUE, "o", "kept"), (False, ORANGE, "^", "removed")):
        axes.scatter([], [], color=colour, marker=marker, s=24, label=f"{name} ({count(int((kept == side).sum()))})")
    for left, low, region, vertical, horizontal in _REGIONS:
        axes.text(left, low, region, color=GREY, fontsize=9, va=vertical, ha=horizontal, zorder=11, bbox=_WHITE)
    axes.set(xlim=(-0.01, 0.51), ylim=(-0.02, 1.02))
    axes.set_xlabel("variability of the label's probability over epochs")
    axes.set_ylabel("confidence: its mean")
    axes.set_title(data_map.title, fontsize=12)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    literal(figure)
    return Picture(png(figure), data_map_alt(data_map))


def data_map_alt(data_map: DataMap) -> str:
    """What the picture shows, with the means of both sides."""
    sides = ". ".join(
        f"{name} rows have mean confidence {_mean(data_map, 'confidence', kept)}, variability "
        f"{_mean(data_map, 'variability', kept)} and correctness {_mean(data_map, 'correctness', kept)}"
        for name, kept in (("Kept", True), ("Removed", False))
    )
    shown = data_map.entered.num_rows
    sampled = f", a random sample of {count(_MOST_POINTS)}" if shown > _MOST_POINTS else ""
    rows = f"{counted(shown, 'train row')}{sampled}, confidence against variability"
    if data_map.given:
        return f"{data_map.title}, {rows}, representation {data_map.representation}. {sides}"
    return (
        f"{data_map.title} trained on full, {rows} over {counted(data_map.epochs, 'epoch')}, mean of "
        f"{counted(data_map.seeds, 'seed')}, representation {data_map.representation}. {sides}"
    )


def _mean(data_map: DataMap, column: str, kept: bool) -> str:
    mean = data_map.mean(column, kept=kept)
    return "none" if mean is None else f"{mean:.2f}"
