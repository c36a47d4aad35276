"""Small pictures that Dagster's pages show directly.

Dagster shows Markdown of a thousand characters or more only after a click.
"""

import base64
import json
import math
from collections.abc import Mapping, Sequence

import dagster as dg

from aflite_assets.addresses import results_page
from aflite_assets.results import PublishedResult, ResultStore

LONGEST = 999
"""Largest number of characters of Markdown that Dagster's asset page shows without a click."""

_WIDTH, _HEIGHT = 320, 60
_POINTS = 24
"""Largest number of points of a curve; the points are at equal steps and include the last value."""
_COLOURS = (("blue", "#35d"), ("grey", "#888"))


def small_lines(lines: Mapping[str, Sequence[float]]) -> dg.MarkdownMetadataValue:
    """Return a small picture of at most two curves with values in [0, 1], and their first and last values as text.

    `lines`: the values of each curve by name, one value per step. The bottom of the picture is 0 and the top is 1.
    Values that are not finite are left out.
    """
    known = {
        name: [(step, value) for step, value in enumerate(values) if math.isfinite(value)]
        for name, values in lines.items()
    }
    shown = [(name, points, colour) for (name, points), colour in zip(known.items(), _COLOURS, strict=False) if points]
    last = max((len(values) for values in lines.values()), default=1) - 1
    paths = "".join(
        f'<path d="{_path(points, last)}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for _, points, (_, colour) in shown
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" style="background:#f1f3f5">'
        f"{paths}</svg>"
    )
    said = "; ".join(f"{word}: {name} {points[0][1]:.2f} to {points[-1][1]:.2f}" for name, points, (word, _) in shown)
    picture = base64.b64encode(svg.encode()).decode()
    return dg.MetadataValue.md(f"![{said}](data:image/svg+xml;base64,{picture})\n\n{said}")


def linked_figures(result: PublishedResult, store: ResultStore, names: Sequence[str]) -> dict[str, dg.MetadataValue]:
    """Return the report's figures in `names` as pictures served by `aflite serve`.

    The dict is empty if the address of the server is not set. Figure names in `names` have "_" in place of ".", because
    metadata entries are named this way.
    """
    from aflite_assets.reports.page.markdown import escape_markdown

    alts: dict[str, str] = json.loads(result.file("figures.json").read_text(encoding="utf-8"))
    pictures: dict[str, dg.MetadataValue] = {}
    for name, alt in alts.items():
        page = results_page(result.path / "figures" / f"{name}.png", store.root)
        shown = f"![{escape_markdown(alt)}]({page})"
        if page is not None and name.replace(".", "_") in names and len(shown) <= LONGEST:
            pictures[name.replace(".", "_")] = dg.MetadataValue.md(shown)
    return pictures


def _path(points: Sequence[tuple[int, float]], last: int) -> str:
    """Return the SVG path through points (step, value); `last` is the step at the right border."""
    end = len(points) - 1
    few = points if end < _POINTS else [points[round(at * end / (_POINTS - 1))] for at in range(_POINTS)]
    placed = [
        f"{round(step * _WIDTH / max(last, 1))} {round((1 - min(max(value, 0), 1)) * (_HEIGHT - 4) + 2)}"
        for step, value in few
    ]
    return f"M{' '.join(placed)}"
