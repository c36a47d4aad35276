"""Dots in place of figures, for what runs pipelines and looks at no picture."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from aflite_assets.analysis.inputs.records import BenchmarkData

FIGURES = {
    "filtering_figures": (
        "learning_curves",
        "filtering_curve",
        "filtering_curves",
        "predictability_histogram",
        "scores_by_iteration",
    ),
    "model_figures": ("_overview", "_waterfalls"),
    "representation_figures": ("_similarity_map", "image_grid", "scatter"),
}
"""By module of `reports.figures`, the functions that a report calls for a figure."""


@contextmanager
def undrawn_figures() -> Iterator[None]:
    """Each figure of a report is a dot, for the block; any other is put together, and its file is a dot.

    Figures are most of what a tiny dataset's report costs; `tests/reports` and the walks without this draw every one.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    from aflite_assets.reports.figures.drawing import Picture

    drawn = io.BytesIO()
    Image.new("RGB", (1, 1)).save(drawn, format="png")
    dot = Picture(drawn.getvalue(), "a dot")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FigureCanvasAgg, "draw", FigureCanvasAgg.get_renderer)
        patched.setattr("aflite_assets.reports.figures.drawing._packed", lambda image: drawn.getvalue())
        for module, names in FIGURES.items():
            for name in names:
                place = f"aflite_assets.reports.figures.{module}.{name}"
                patched.setattr(place, lambda *arguments, **options: dot)
        yield


def undrawn_page(data: "BenchmarkData") -> str:
    """A report's page for those who look at no picture. Made of a copy: figures are kept per record."""
    from tests.planted_reports import rendered_page

    with undrawn_figures():
        return rendered_page(replace(data))
