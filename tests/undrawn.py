"""Figures that are put together but not drawn, for what runs pipelines and looks at no picture."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest


@contextmanager
def undrawn_figures() -> Iterator[None]:
    """Each figure's file is a dot, for the block.

    Drawing is half of what a tiny dataset's report costs; `tests/reports` and the walks without this draw every figure.
    """

    def dot(figure: Any, target: IO[bytes], **options: Any) -> None:
        Image.new("RGB", (1, 1)).save(target, format="png")

    from matplotlib.figure import Figure
    from PIL import Image

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Figure, "savefig", dot)
        yield
