from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.raw_table.table import RawTable, build_raw_table
from aflite_assets.specs.columns import ColumnsSpec


@pytest.fixture
def image_folder(tmp_path: Path) -> Path:
    """A split folder with two classes of three 4 x 4 images each, of brightness 0 to 5."""
    from PIL import Image

    for number in range(6):
        folder = tmp_path / "images" / ("cat" if number < 3 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4), number, np.uint8)).save(folder / f"{number}.png")
    return tmp_path / "images"


@pytest.fixture
def build() -> Callable[..., RawTable]:
    """`build_raw_table` from plain columns per split, with the spec's defaults for what a test does not say."""

    def call(splits: dict[str, dict[str, Any]], columns: dict[str, Any] | None = None, **options: Any) -> RawTable:
        settings: dict[str, Any] = {"label_names": None, "unlabelled": (), "limit": None, "seed": 0} | options
        tables = {split: pa.table(values) for split, values in splits.items()}
        return build_raw_table(tables, columns=ColumnsSpec(**(columns or {"text": "text"})), **settings)

    return call
