from dataclasses import replace

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.subsets import Subset, subsets_of


def shown(parts: list[Subset]) -> list[tuple[str | None, str | None, str | None, list[int]]]:
    return [(one.column, one.category, one.label, np.flatnonzero(one.mask).tolist()) for one in parts]


def test_every_column_has_its_values_and_any_value_where_rows_have_none(by_hand: BenchmarkData) -> None:
    assert shown(subsets_of(by_hand.test_sets[1])) == [
        (None, None, "yes", [0, 2, 4, 6]),
        (None, None, "no", [1, 3, 5, 7]),
        ("kind", "x", None, [0, 1, 2, 3]),
        ("kind", "x", "yes", [0, 2]),
        ("kind", "x", "no", [1, 3]),
        ("kind", "y", None, [4, 5, 6, 7]),
        ("kind", "y", "yes", [4, 6]),
        ("kind", "y", "no", [5, 7]),
        ("rule", None, None, [0, 3, 4]),
        ("rule", None, "yes", [0, 4]),
        ("rule", None, "no", [3]),
        ("rule", "r", None, [0, 3]),
        ("rule", "r", "yes", [0]),
        ("rule", "r", "no", [3]),
        ("rule", "s", "yes", [4]),
    ]


def test_a_column_without_values_has_no_part(by_hand: BenchmarkData) -> None:
    empty = replace(by_hand.test_sets[1], categories={"none": np.array([None, ""] * 4, dtype=object)})
    assert [part.column for part in subsets_of(empty)] == [None, None]
