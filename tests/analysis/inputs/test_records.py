from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.inputs.records import TestSet


@pytest.mark.parametrize(
    ("class_map", "collapse", "adds"),
    [
        (None, "probability", False),
        ([0, 1], "probability", False),
        ([1, 0], "probability", False),
        ([0, 1, 1], "probability", True),
        ([0, -1, 1], "probability", True),
        ([0, 1, 1], "label", False),
    ],
)
def test_probabilities_are_added_only_where_classes_merge_or_drop_out(
    class_map: list[int] | None, collapse: Any, adds: bool
) -> None:
    given = None if class_map is None else np.array(class_map)
    one = TestSet("t", True, np.arange(2), np.arange(2), ("a", "b"), {}, class_map=given, collapse=collapse)
    assert one.adds_probabilities is adds
