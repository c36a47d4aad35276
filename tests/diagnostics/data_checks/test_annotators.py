import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.data.loading import load_source
from aflite_assets.data.raw_table.table import build_raw_table
from aflite_assets.diagnostics.data_checks.annotators import (
    LabelAgreement,
    annotator_agreement,
    majority_against_label,
)
from aflite_assets.reports.tables.published import published_tables
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import TableSource


def _examples(labels: list[int], given: list[list[int]]) -> Examples:
    column = pa.array(given, pa.list_(pa.int64()))
    row_ids = np.arange(100, 100 + len(labels))
    table = pa.table({"row_id": row_ids, "label": np.array(labels, np.int64), "annotator_labels": column})
    return Examples(table, ("no", "yes", "maybe"))


def test_every_row_counts_once_however_many_annotators_it_has() -> None:
    found = annotator_agreement(_examples([0, 0, 1, 1, 1], [[0, 0, 0, 1], [2, 2], [], [1], [0]]))
    assert found is not None
    assert found.rows == 4
    assert found.mean_accuracy == (3 / 4 + 0 + 1 + 0) / 4
    assert found.unanimous_share == 1 / 2  # of the two rows with two or more annotators, one has two times "maybe"


def test_rows_without_annotators_have_no_agreement() -> None:
    assert annotator_agreement(_examples([0, 1], [[], []])) is None
    assert annotator_agreement(_examples([], [])) is None
    assert annotator_agreement(Examples(pa.table({"row_id": [0], "label": [0]}), ("a", "b"))) is None


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=5)), min_size=1, max_size=20),
    cut=st.integers(0, 20),
)
def test_agreement_is_that_of_a_plain_count(rows: list[tuple[int, list[int]]], cut: int) -> None:
    whole = _examples([label for label, _ in rows], [given for _, given in rows])
    parts = [whole.table.slice(0, cut), whole.table.slice(cut)]
    found = annotator_agreement(Examples(pa.concat_tables(parts), whole.label_names))
    shares = [given.count(label) / len(given) for label, given in rows if given]
    several = [len(set(given)) == 1 for _, given in rows if len(given) > 1]
    if not shares:
        assert found is None
        return
    assert found is not None
    assert found.mean_accuracy == pytest.approx(np.mean(shares))
    assert found.unanimous_share == (pytest.approx(np.mean(several)) if several else None)
    assert found.rows == len(shares)


def _snli_agreement(**parts: str) -> LabelAgreement:
    """Agreement on files of SNLI's original release, `part` being the middle of a file's name, by split."""
    folder = Path(os.environ["AFLITE_EXAMPLE_DATA"]) / "snli_original"
    files = {split: str(folder / f"snli_1.0_{part}.jsonl") for split, part in parts.items()}
    raw = build_raw_table(
        load_source(TableSource(format="jsonl", splits=files)),
        columns=ColumnsSpec(text="sentence1", text_pair="sentence2", label="gold_label", annotators="annotator_labels"),
        label_names=None,
        unlabelled=("-",),
        limit=None,
        seed=0,
    )
    found = annotator_agreement(raw.examples)
    assert found is not None
    return found


@pytest.mark.skipif("AFLITE_EXAMPLE_DATA" not in os.environ, reason="AFLITE_EXAMPLE_DATA names no example data")
def test_single_annotators_of_snli_give_the_label_of_88_rows_in_100() -> None:
    found = _snli_agreement(train="dev", test="test")
    assert found.rows == 2527
    assert round(found.mean_accuracy, 4) == 0.8808
    assert found.unanimous_share == 1401 / 2527


@pytest.mark.skipif("AFLITE_EXAMPLE_DATA" not in os.environ, reason="AFLITE_EXAMPLE_DATA names no example data")
def test_the_human_row_on_development_rows_is_half_a_point_under_the_printed_one() -> None:
    found = _snli_agreement(train="dev")
    assert (found.rows, round(100 * found.mean_accuracy, 1)) == (1273, 87.6)
    (human,) = [one.rows["human"] for one in published_tables("snli") if "human" in one.rows]
    assert human[0].value == 88.1


def test_without_annotators_nobody_disagrees(make_examples: Callable[..., Examples]) -> None:
    assert majority_against_label(make_examples(["train"], [0], text=["a"])).tolist() == []
    assert majority_against_label(_examples([], [])).tolist() == []
    assert majority_against_label(_examples([0, 1], [[], []])).tolist() == []


@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=5)), max_size=8))
def test_rows_are_those_found_one_by_one(rows: list[tuple[int, list[int]]]) -> None:
    found = majority_against_label(_examples([row[0] for row in rows], [row[1] for row in rows]))
    expected = [
        100 + number
        for number, (label, given) in enumerate(rows)
        if any(2 * given.count(other) > len(given) for other in {0, 1, 2} - {label})
    ]
    np.testing.assert_array_equal(found, expected)


def examples_of(labels: list[int], annotators: list[list[int]]) -> Examples:
    table = pa.table(
        {
            "row_id": pa.array(range(100, 100 + len(labels)), pa.int64()),
            "label": pa.array(labels, pa.int64()),
            "annotator_labels": pa.array(annotators, pa.list_(pa.int64())),
        }
    )
    return Examples(table, ("a", "b", "c"))


def test_one_annotator_per_row_says_nothing_of_unanimity() -> None:
    found = annotator_agreement(_examples([0, 1], [[0], [1]]))
    assert found is not None
    assert (found.mean_accuracy, found.unanimous_share) == (1, None)


def test_more_than_half_must_have_given_one_other_label() -> None:
    annotators = [[1, 1, 0], [1, 0], [1, 2, 0, 0], [1, 2], [], [2], [0, 0, 0], [1, 2, 1]]
    assert majority_against_label(examples_of([0] * 8, annotators)).tolist() == [100, 105, 107]
