from collections.abc import Callable

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.data_checks.majority import majority_against_label


def examples_of(labels: list[int], annotators: list[list[int]]) -> Examples:
    table = pa.table(
        {
            "row_id": pa.array(range(100, 100 + len(labels)), pa.int64()),
            "label": pa.array(labels, pa.int64()),
            "annotator_labels": pa.array(annotators, pa.list_(pa.int64())),
        }
    )
    return Examples(table, ("a", "b", "c"))


def test_more_than_half_must_have_given_one_other_label() -> None:
    annotators = [[1, 1, 0], [1, 0], [1, 2, 0, 0], [1, 2], [], [2], [0, 0, 0], [1, 2, 1]]
    assert majority_against_label(examples_of([0] * 8, annotators)).tolist() == [100, 105, 107]


def test_without_annotators_nobody_disagrees(make_examples: Callable[..., Examples]) -> None:
    assert majority_against_label(make_examples(["train"], [0], text=["a"])).tolist() == []
    assert majority_against_label(examples_of([], [])).tolist() == []
    assert majority_against_label(examples_of([0, 1], [[], []])).tolist() == []


@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=5)), max_size=8))
def test_rows_are_those_found_one_by_one(rows: list[tuple[int, list[int]]]) -> None:
    found = majority_against_label(examples_of([row[0] for row in rows], [row[1] for row in rows]))
    expected = [
        100 + number
        for number, (label, given) in enumerate(rows)
        if any(2 * given.count(other) > len(given) for other in {0, 1, 2} - {label})
    ]
    np.testing.assert_array_equal(found, expected)
