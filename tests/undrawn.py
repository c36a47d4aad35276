"""Dots in place of figures, for what runs pipelines and looks at no picture."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.planted_reports import rendered_page
from aflite_assets.analysis.inputs.records import BenchmarkData

FIGURES = {
    "all_figures": ("filtering_curves", "learning_curve_picture", "scores_by_iteration", "similarity_map"),
    "drawing": ("_packed",),
    "representation_figures": ("filtering_curve", "image_grid", "predictability_histogram", "scatter"),
}
"""By module of `reports.figures`, the functions that a report calls for the bytes of a figure."""


@contextmanager
def undrawn_figures() -> Iterator[None]:
    """Each figure of a report is a dot, for the block; any other is put together, and its file is a dot.

    Figures are most of what a tiny dataset's report costs; `tests/reports` and the walks without this draw every one.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    from aflite_assets.reports.figures import drawing, headline_figures

    drawn = io.BytesIO()
    Image.new("RGB", (1, 1)).save(drawn, format="png")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FigureCanvasAgg, "draw", FigureCanvasAgg.get_renderer)
        for module, names in FIGURES.items():
            for name in names:
                place = f"aflite_assets.reports.figures.{module}.{name}"
                patched.setattr(place, lambda *arguments, **options: drawn.getvalue())
        for name in ("_overview", "_waterfalls"):
            picture = drawing.Picture(drawn.getvalue(), "a dot")
            patched.setattr(headline_figures, name, lambda *arguments, picture=picture, **options: picture)
        yield


def undrawn_page(data: "BenchmarkData") -> str:
    """A report's page for those who look at no picture. Made of a copy: figures are kept per record."""

    with undrawn_figures():
        return rendered_page(replace(data))
