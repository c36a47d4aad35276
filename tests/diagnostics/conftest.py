from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.data_checks.context import CheckContext

MakeExamples = Callable[..., Examples]


@pytest.fixture
def make_examples() -> MakeExamples:
    """Examples with row ids 100, 101, ...; `features` is a matrix, other columns are as Arrow takes them."""

    def make(splits: list[str], labels: list[int], names: tuple[str, ...] = ("no", "yes"), **columns: Any) -> Examples:
        if "features" in columns:
            matrix = np.asarray(columns["features"], np.float32)
            columns["features"] = pa.array(matrix.tolist(), pa.list_(pa.float32()))
        for name in ("text", "text_pair"):
            if name in columns:
                columns[name] = pa.array(columns[name], pa.string())
        table = {
            "row_id": pa.array(range(100, 100 + len(splits)), pa.int64()),
            "source_id": pa.array([f"s{row}" for row in range(len(splits))], pa.string()),
            "split": pa.array(splits, pa.string()),
            "label": pa.array(labels, pa.int64()),
        }
        return Examples(pa.table(table | columns), names)

    return make


@pytest.fixture
def data(make_examples: MakeExamples) -> Callable[..., CheckContext]:
    """The same as checks read it."""
    return lambda *args, **columns: CheckContext(make_examples(*args, **columns))
