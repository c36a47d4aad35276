"""Figures that show the rows of one filtering: two features, images, similarities, text lengths, and the data map.

The figure of two features, with the models' accuracies, corresponds to Figure 2 of the ICML 2020 paper. The figure of
text lengths corresponds to Figure 2 of the SustaiNLP 2020 paper, which has no random rows. The data map (variability
against confidence) corresponds to Figure 1 of Swayamdipta et al. 2020.
"""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.inputs.cues import ClassBlocks
from aflite_assets.analysis.rows.measured import DataMapMeans, LengthShare
from aflite_assets.analysis.scores.score_tables import ACCURACIES, Accuracy, TestedOn
from aflite_assets.data.examples import Examples
from aflite_assets.reports.figures import drawing
from aflite_assets.reports.figures.drawing import BLUE, GREY, ORANGE, Picture, new_figure, series_style
from aflite_assets.reports.figures.example_rows import example_images, shown_examples, square_pixels
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.text import count, listed, one_line, percent, short, signed_points
from aflite_assets.wording import counted

if TYPE_CHECKING:
    from matplotlib.colors import Normalize

_MOST_POINTS, _MOST_ON_MAP = 2_000, 3_000
"""Largest number of rows of all classes in a scatter plot, and of kept and removed rows on a data map. With more rows,
points overlap too much.
"""

_LAYERS = 8  # layers of a data map, each with some kept and some removed rows
_ACROSS, _SIDE = 6, 72
"""Images per row of the grid, number of images drawn per side (with more, each would have too few colours), and the
size of one image in pixels.
"""

_COLOURS = "cividis"  # looks alike with and without red-green blindness (Nuñez et al. 2018)
_SIDES: dict[str, Any] = {"kept": {"color": BLUE, "marker": "o"}, "removed": {"color": ORANGE, "marker": "^"}}
_REGIONS = (
    (0.01, 0.97, "easy to learn", "top", "left"),
    (0.49, 0.5, "ambiguous", "center", "right"),
    (0.01, 0.03, "hard to learn", "bottom", "left"),
)

Compared = tuple[Accuracy, ...]
"""Accuracies of one evaluator: trained and tested on `full`; trained on `random`, tested on `full`; trained and tested
on `filtered`.
"""


def compared_accuracies(analysis: Analysis, representation: str) -> list[Compared]:
    """Return the accuracies shown with the scatter plots.

    There is one item for each evaluator and test set for which the drop in accuracy from `full` to `filtered` was
    analysed.
    """
    whole = (one for one in analysis.of(ACCURACIES, representation) if one.whole and one.top == 1)
    found = {(one.evaluator, one.test_set, one.train_set, one.tested_on): one for one in whole}
    sets: tuple[tuple[str, TestedOn], ...] = (("full", "full"), ("random", "full"), ("filtered", "filtered"))
    starts = [(fall[0].evaluator, fall[0].test_set) for fall in analysis.falls(representation)]
    return [tuple(found[*start, train_set, rows] for train_set, rows in sets) for start in starts]


def scatter_pictures(inputs: ReportInputs, rows: pa.Table, compared: Sequence[Compared]) -> dict[str, Picture]:
    """Draw scatter plots of two features of the train rows, "before" and "after" filtering, on the same scale.

    Returns no plots if no features were chosen.
    """
    if inputs.scatter_features is None:
        return {}
    entered = rows.filter(pc.equal(rows["split"], "train"))
    train, kept = inputs.examples.select(entered["row_id"].to_pylist()), entered["kept"].to_numpy(zero_copy_only=False)
    points = train.features[:, list(inputs.scatter_features)]
    names = list(map(inputs.source.feature_title, inputs.scatter_features))
    return {
        "before": scatter(train, points, np.ones_like(kept), names, "Before filtering", _notes("full", compared)),
        "after": scatter(train, points, kept, names, "After filtering", _notes("filtered", compared)),
    }


def scatter(
    train: Examples, points: np.ndarray, shown: np.ndarray, axis_names: Sequence[str], when: str, notes: Sequence[str]
) -> Picture:
    """Draw the rows of `points`, of shape (rows, 2), for which `shown` is True, with one colour per class. If there are
    more than 2,000 points, only every n-th point is drawn.

    `notes`: lines of text to show below the title.
    """
    figure, axes = drawing.new_axes(width=4.5, height=4.2 + 0.17 * len(notes))
    places = np.flatnonzero(shown)
    places = places[:: max(1, -(-len(places) // _MOST_POINTS))]
    for c, name in enumerate(train.label_names):
        x, y = points[places[train.labels[places] == c]].T
        axes.scatter(x, y, s=14, alpha=0.75, lw=0, label=short(name, 24), **series_style(c))
    x0, x1, y0, y1 = scatter_limits(points)
    axes.axis((x0, x1, y0, y1))
    if 0.5 <= (y1 - y0) / (x1 - x0) <= 2:
        axes.set_aspect("equal")
    title = f"{when}: {counted(int(shown.sum()), 'train row')}"
    first, second = map(one_line, axis_names)
    axes.set(xlabel=first, ylabel=second)
    figure.suptitle(title, fontsize=12)
    axes.set_title("\n".join(notes), fontsize=9)
    alt = ". ".join(filter(None, (f"{title}, {first} against {second}, coloured by class", " ".join(notes))))
    return drawing.picture(figure, alt, legend=axes, ncols=3)


def scatter_limits(points: np.ndarray) -> tuple[float, float, float, float]:
    """Return axis limits (x0, x1, y0, y1) around all points (rows x 2) with a margin of 5 %."""
    if not len(points):
        return (0.0, 1.0, 0.0, 1.0)
    low, high = points.min(axis=0).astype(float), points.max(axis=0).astype(float)
    margin = np.where(high > low, 0.05 * (high - low), 0.5)
    (x0, y0), (x1, y1) = low - margin, high + margin
    return x0, x1, y0, y1


def scatter_caption(analysis: Analysis, representation: str) -> str:
    """Return a caption that lists the accuracies shown with the two scatter plots, or an empty string if there are no
    accuracies.

    The caption also gives the accuracies of models trained on `random`, which has as many rows as `filtered`.
    """
    if not (compared := compared_accuracies(analysis, representation)):
        return ""
    full, _, filtered = compared[0]
    random = listed([_accuracy(random) for _, random, _ in compared])
    return (
        f"The first accuracy is of models trained on full and tested on all {count(full.test_rows)} rows of "
        f"{full.test_set}. The second is of models trained on filtered and tested on the "
        f"{count(filtered.test_rows)} of them that were kept. Models trained on random, which has as many rows, reach "
        f"on all rows: {random}."
    )


def _notes(train_set: str, compared: Sequence[Compared]) -> list[str]:
    """Return lines with the evaluators' accuracies, to show below the title of a scatter plot.

    Each line has the accuracies of as many evaluators as fit on the line.
    """
    lines: list[list[str]] = []
    for one in compared:
        label = _accuracy(one[0] if train_set == "full" else one[-1])
        if not lines or len(lines[-1]) == 3 or len(", ".join([*lines[-1], label])) > 62:  # characters
            lines.append([])
        lines[-1].append(label)
    where = [f"trained on {train_set}, tested on {train_set} rows of {one[0].test_set}:" for one in compared[:1]]
    return [*where, *map(", ".join, lines)]


def _accuracy(one: Accuracy) -> str:
    return f"{one.evaluator} {one.status if one.accuracy is None else f'{percent(one.accuracy)} %'}"


def examples_picture(inputs: ReportInputs, rows: pa.Table, representation: str) -> Picture:
    """Draw random images of each side (kept and removed) with their predictability. Every call draws the same
    images.
    """
    images: list[bytes] = []
    captions: list[str] = []
    for side in ("kept", "removed"):
        shown = shown_examples(inputs.examples, rows, kept=side == "kept", seed=0, most=_ACROSS)
        images += example_images(inputs.examples, shown)
        captions += [side if one.predictability is None else f"{side} {one.predictability:.2f}" for one in shown]
    alt = "Images kept and then images removed, drawn at random, each with its predictability, representation "
    return image_grid(images, captions, alt + representation)


def image_grid(images: Sequence[bytes], captions: Sequence[str], alt: str) -> Picture:
    """Draw thumbnails in a grid.

    Below each thumbnail is its caption. A crossed-out square replaces an unreadable image.
    """
    down = max(1, -(-len(images) // _ACROSS))
    figure = new_figure(width=_ACROSS * (_SIDE + 12) / drawing.DPI, height=down * (_SIDE + 34) / drawing.DPI)
    panels = figure.subplots(down, _ACROSS, squeeze=False)
    for axes in panels.flat:
        axes.set_axis_off()
    for axes, image, caption in zip(panels.flat, images, captions, strict=False):
        pixels = square_pixels(image, _SIDE)
        if pixels is None:
            axes.plot([0, 1, np.nan, 0, 1], [0, 1, np.nan, 1, 0], color=GREY)
        else:
            axes.imshow(pixels)
        axes.set_title(short(caption, 14), fontsize=7, y=-0.28)
    return drawing.picture(figure, alt)


def similarity_pictures(classes: Sequence[ClassBlocks]) -> dict[int, Picture]:
    """Draw one similarity map per class. A map has one cell per pair of rows, and all maps have the same colour scale.

    The returned mapping is from class number to similarity map.
    """
    from matplotlib.colors import Normalize

    return {blocks[0].label: _similarity_map(blocks, Normalize(lowest_similarity(classes), 1)) for blocks in classes}


def _similarity_map(blocks: ClassBlocks, scale: "Normalize") -> Picture:
    from matplotlib.cm import ScalarMappable

    figure = new_figure(width=8.6, height=3.1)
    *panels, beside = figure.subplots(1, len(blocks) + 1, width_ratios=[*(20 for _ in blocks), 1])
    for axes, block in zip(panels, blocks, strict=True):
        axes.imshow(block.similarities, cmap=_COLOURS, norm=scale, interpolation="nearest", aspect="equal")
        axes.set_title(f"{block.side}: mean {signed_points(block.mean, decimals=3)}", fontsize=10)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks((0, len(block.row_ids) - 1), ("1", str(len(block.row_ids))))
        axes.set_xlabel("row shown")
        axes.tick_params(length=0)
    figure.colorbar(ScalarMappable(scale, _COLOURS), cax=beside, label="cosine similarity")
    name = short(blocks[0].label_name)
    figure.suptitle(f"Class {name}", fontsize=12)
    of = f"class {name}, representation {blocks[0].representation}; mean {means_text(blocks)}"
    return drawing.picture(figure, f"Cosine similarity of kept, removed and random rows of {of}", grid=False)


def lowest_similarity(classes: Sequence[ClassBlocks]) -> float:
    """Return the start of the colour scale, which is the lowest similarity rounded down to a multiple of 0.1."""
    lowest = min((float(block.similarities.min(initial=1)) for blocks in classes for block in blocks), default=0.0)
    return max(float(np.floor(10 * min(lowest, 0.9)) / 10), -1.0)


def means_text(blocks: ClassBlocks) -> str:
    """Describe the mean similarity among the kept, removed and random rows of a class, with the numbers of rows."""
    texts = []
    for one in blocks:
        part = "" if one.used_rows == one.rows else f"{count(one.used_rows)} of "
        texts.append(f"{one.side} {signed_points(one.mean, decimals=3)} ({part}{counted(one.rows)})")
    return ", ".join(texts)


def lengths_picture(shares: Sequence[LengthShare]) -> Picture:
    """Draw how kept, removed and random rows of one representation are distributed over the number of words.

    The figure has one panel per text column.
    """
    columns = [list(places) for _, places in groupby(shares, attrgetter("column"))]
    figure = new_figure(width=5.6 if len(columns) == 1 else 9.4, height=3.5)
    panels = figure.subplots(1, len(columns), squeeze=False)[0]
    texts = "; ".join(map(_draw_lengths, panels, columns))
    panels[0].set_ylabel("share of rows (%)")
    rows = counted(shares[0].kept_rows + shares[0].removed_rows, "train row")
    alt = f"Share of {rows} by words, kept, removed and as many random as were kept, representation "
    return drawing.picture(figure, f"{alt}{shares[0].representation}. {texts}", legend=panels[0], ncols=3, fontsize=9)


def _draw_lengths(axes: "drawing.Axes", places: Sequence[LengthShare]) -> str:
    """Draw the panel of one column, and return the mean lengths of kept and removed rows in words."""
    first, name = places[0], short(places[0].column_name, 40)
    starts, least, mean, most = drawing.columns(places, "start", "random_least", "random_mean", "random_most")
    middles = starts + (starts[1] - starts[0] - 1 if len(places) > 1 else 0) / 2
    if first.kept_rows:
        axes.fill_between(middles, 100 * least, 100 * most, color=GREY, alpha=0.25, lw=0)
        axes.plot(middles, 100 * mean, color=GREY, lw=1.4, label="as many random rows")
    for side, rows, line in (("kept", first.kept_rows, "-"), ("removed", first.removed_rows, "--")):
        if rows:
            (share,) = drawing.columns(places, side)
            style = {**_SIDES[side], "label": f"{side} ({count(rows)})"}
            axes.plot(middles, 100 * share, ls=line, ms=3.5, lw=1.6, **style)
    axes.set(xlabel="words", ylim=(0, None))
    axes.set_title(name, fontsize=11)
    drawing.whole_ticks(axes)
    kept, removed = ("none" if mean is None else f"{mean:.1f} words" for mean in (first.kept_mean, first.removed_mean))
    return f"{name}: the mean is {kept} for kept rows and {removed} for removed rows"


def data_map(kept: DataMapMeans, removed: DataMapMeans, points: pa.Table) -> Picture:
    """Draw the data map of the train rows that entered the filter, or of a random sample of many rows.

    Rows are drawn in random order, so that neither kept nor removed rows are hidden.
    """
    rows = points.filter(pc.is_valid(points["kept"]))
    is_kept = rows["kept"].to_numpy(zero_copy_only=False).astype(bool)
    places = np.column_stack([rows["variability"].to_numpy(), rows["confidence"].to_numpy()])
    drawn = np.random.default_rng(0).permutation(len(places))[:_MOST_ON_MAP]
    figure, axes = drawing.new_axes(height=4.2)
    for one in (kept, removed):
        for layer, rows_of_layer in enumerate(np.array_split(drawn, _LAYERS), start=2):
            x, y = places[rows_of_layer[is_kept[rows_of_layer] == (one.side == "kept")]].T
            axes.scatter(x, y, s=11, alpha=0.6, lw=0, zorder=layer, **_SIDES[one.side])
        axes.scatter([], [], s=24, label=f"{one.side} ({count(one.rows)})", **_SIDES[one.side])
    box = {"facecolor": "white", "alpha": 0.7, "lw": 0, "pad": 1}
    for left, low, region, vertical, horizontal in _REGIONS:
        axes.text(left, low, region, color=GREY, fontsize=9, va=vertical, ha=horizontal, zorder=11, bbox=box)
    axes.set(xlim=(-0.01, 0.51), ylim=(-0.02, 1.02))
    axes.set(xlabel="variability of the label's probability over epochs", ylabel="confidence: its mean")
    axes.set_title(_title(kept), fontsize=12)
    return drawing.picture(figure, data_map_alt(kept, removed), legend=axes, ncols=2)


def data_map_alt(kept: DataMapMeans, removed: DataMapMeans) -> str:
    """Describe the data map in words, with the means of kept and removed rows."""
    sides = []
    for one in (kept, removed):
        names = ("confidence", "variability", "correctness")
        means = [f"{name} {'none' if vars(one)[name] is None else f'{vars(one)[name]:.2f}'}" for name in names]
        sides.append(f"{one.side.capitalize()} rows have mean {listed(means)}")
    shown = kept.rows + removed.rows
    sampled = f", a random sample of {count(_MOST_ON_MAP)}" if shown > _MOST_ON_MAP else ""
    over = "" if kept.given else f" over {counted(kept.epochs, 'epoch')}, mean of {counted(kept.seeds, 'seed')}"
    rows = f"{' trained on full' if not kept.given else ''}, {counted(shown, 'train row')}{sampled}"
    of = f"confidence against variability{over}, representation {kept.representation}"
    return f"{_title(kept)}{rows}, {of}. {'. '.join(sides)}"


def _title(one: DataMapMeans) -> str:
    return "Data map given with the dataset" if one.given else f"Data map of {one.evaluator}"
