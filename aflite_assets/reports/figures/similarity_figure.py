"""Figure 1 of the paper (ICML 2020) as a heat map: similarities of a class's kept, removed and random rows, as PNG."""

from collections.abc import Sequence

from aflite_assets.reports.figures.drawing import new_figure, png
from aflite_assets.reports.inputs.similarity import ClassSimilarity, SimilarityBlock, lowest_similarity, similarity_text
from aflite_assets.reports.text import one_line
from aflite_assets.wording import truncate

_COLOURS = "cividis"
"""Made to look alike with and without red-green blindness (Nuñez et al. 2018)."""


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


def _title(block: SimilarityBlock) -> str:
    return f"{block.side}: mean {similarity_text(block.mean)}"
