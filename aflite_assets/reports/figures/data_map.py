"""The data map (Swayamdipta et al. 2020, Figure 1): variability against confidence, coloured by kept and removed."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.rows.measured import DataMapMeans
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


def data_map_pictures(
    means: Sequence[DataMapMeans], maps: Mapping[tuple[str, str], pa.Table]
) -> Iterator[tuple[str, Picture]]:
    """The picture of each data map, named data_map.<representation>.<evaluator>.

    `means`: the kept rows of each map, then the removed ones; `maps`: the points by representation and evaluator.
    """
    for kept, removed in zip(means[::2], means[1::2], strict=True):
        place = (kept.representation, kept.evaluator)
        yield f"data_map.{'.'.join(place)}", data_map_picture(kept, removed, maps[place])


def data_map_picture(kept: DataMapMeans, removed: DataMapMeans, points: pa.Table, *, seed: int = 0) -> Picture:
    """The train rows that entered the filter, those of a random sample from `seed` where there are many.

    Kept rows are blue circles, removed ones orange triangles, drawn in random order so that neither covers the other.
    """
    rows = points.filter(pc.is_valid(points["kept"]))
    is_kept = rows["kept"].to_numpy(zero_copy_only=False).astype(bool)
    places = np.column_stack([rows["variability"].to_numpy(), rows["confidence"].to_numpy()])
    drawn = np.random.default_rng(seed).permutation(len(places))[:_MOST_POINTS]
    figure = new_figure(height=4.2)
    axes = figure.subplots()
    order = 2 + np.arange(len(drawn)) * 8 // max(len(drawn), 1)  # eight layers of both sides
    for layer in np.unique(order).tolist():
        for side, colour, marker in ((True, BLUE, "o"), (False, ORANGE, "^")):
            chosen = drawn[(order == layer) & (is_kept[drawn] == side)]
            x, y = places[chosen].T
            axes.scatter(x, y, color=colour, marker=marker, s=11, alpha=0.6, lw=0, zorder=layer)
    for one, colour, marker, name in ((kept, BLUE, "o", "kept"), (removed, ORANGE, "^", "removed")):
        axes.scatter([], [], color=colour, marker=marker, s=24, label=f"{name} ({count(one.rows)})")
    for left, low, region, vertical, horizontal in _REGIONS:
        axes.text(left, low, region, color=GREY, fontsize=9, va=vertical, ha=horizontal, zorder=11, bbox=_WHITE)
    axes.set(xlim=(-0.01, 0.51), ylim=(-0.02, 1.02))
    axes.set_xlabel("variability of the label's probability over epochs")
    axes.set_ylabel("confidence: its mean")
    axes.set_title(_title(kept), fontsize=12)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    literal(figure)
    return Picture(png(figure), data_map_alt(kept, removed))


def data_map_alt(kept: DataMapMeans, removed: DataMapMeans) -> str:
    """What the picture shows, with the means of both sides."""
    sides = ". ".join(
        f"{name} rows have mean confidence {_mean(one.confidence)}, variability {_mean(one.variability)} and "
        f"correctness {_mean(one.correctness)}"
        for name, one in (("Kept", kept), ("Removed", removed))
    )
    shown = kept.rows + removed.rows
    sampled = f", a random sample of {count(_MOST_POINTS)}" if shown > _MOST_POINTS else ""
    rows = f"{counted(shown, 'train row')}{sampled}, confidence against variability"
    if kept.given:
        return f"{_title(kept)}, {rows}, representation {kept.representation}. {sides}"
    return (
        f"{_title(kept)} trained on full, {rows} over {counted(kept.epochs, 'epoch')}, mean of "
        f"{counted(kept.seeds, 'seed')}, representation {kept.representation}. {sides}"
    )


def _title(one: DataMapMeans) -> str:
    return "Data map given with the dataset" if one.given else f"Data map of {one.evaluator}"


def _mean(mean: float | None) -> str:
    return "none" if mean is None else f"{mean:.2f}"
