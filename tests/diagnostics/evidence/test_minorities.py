from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.studies.forgettables.diagnostics.minorities import (
    MOST_VALUES,
    RowMeasures,
    attribute_shares,
    group_means,
    measure_rows,
    words,
)
from aflite_assets.studies.forgettables.specs.settings import NEGATION_WORDS


def _pairs(pairs: list[tuple[str, str]], labels: list[int] | None = None, **attributes: list[str]) -> Examples:
    rows = len(pairs)
    return Examples(
        pa.table(
            {
                "row_id": pa.array(range(rows), pa.int64()),
                "label": pa.array(labels or [0] * rows, pa.int64()),
                "text": [first for first, _ in pairs],
                "text_pair": [second for _, second in pairs],
                **{f"attribute.{name}": values for name, values in attributes.items()},
            }
        ),
        ("yes", "no", "maybe"),
    )


def test_contractions_are_words_whatever_the_apostrophe() -> None:
    assert words("He DON\u2019T, no; isn't (it)?") == {"he", "don't", "no", "isn't", "it"}


def test_overlap_and_negations_of_single_pairs() -> None:
    examples = _pairs([("a b c", "b c d"), ("a", "a"), ("", "?"), ("x", "He doesn\u2019t"), ("never", "nothing")])
    measures = measure_rows(examples, negation=NEGATION_WORDS)
    assert measures.overlap.tolist() == [0.5, 1.0, 0.0, 0.0, 0.0]
    assert measures.negated.tolist() == [0, 0, 0, 1, 0]


def test_means_are_of_the_chosen_rows_of_each_group() -> None:
    measures = RowMeasures(np.array([1.0, 0.0, 0.5, 0.25]), np.array([0.0, 1, 0, 1]))
    chosen = np.array([True, True, True, False])
    found = {
        (m.measure, m.group): m for m in group_means(measures, np.array([0, 1, 0, 2]), chosen, positive=0, negative=1)
    }
    overlap = found["overlap", "positive"]
    assert (overlap.rows, overlap.mean, overlap.deviation) == (2, 0.75, pytest.approx(0.35355, abs=1e-5))
    assert (found["overlap", "others"].rows, found["overlap", "others"].mean) == (1, 0.0)
    assert np.isnan(found["overlap", "others"].deviation)
    assert found["negation", "negative"].mean == 1.0
    assert found["negation", "others"].mean == 0.0


def test_attributes_with_many_values_are_left_out() -> None:
    rows = MOST_VALUES + 1
    examples = _pairs([("a", "b")] * rows, many=[str(row) for row in range(rows)], two=["u"] * 10 + ["v"] * (rows - 10))
    chosen = np.arange(rows) < 15
    shares = attribute_shares(examples, chosen)
    assert [(s.measure, s.group, s.rows, s.mean) for s in shares] == [
        ("two = u", "all rows", 15, pytest.approx(10 / 15)),
        ("two = v", "all rows", 15, pytest.approx(5 / 15)),
    ]


def test_real_pairs_have_about_the_papers_numbers(example_data: Path) -> None:
    table = pyarrow.csv.read_csv(example_data / "multi_nli" / "validation.csv")
    label = table.column("label").to_pylist()
    names = ["entailment", "neutral", "contradiction"]
    numbers = [names.index(value) if isinstance(value, str) else int(value) for value in label]
    pairs = list(zip(table["premise"].to_pylist(), table["hypothesis"].to_pylist(), strict=True))
    measures = measure_rows(_pairs(pairs, numbers), negation=NEGATION_WORDS)
    everything = np.ones(len(numbers), dtype=bool)
    found = {
        (m.measure, m.group): m.mean
        for m in group_means(measures, np.array(numbers), everything, positive=0, negative=2)
    }
    # MNLI's train rows have .33, .22, 31.5 % and 10.4 % (Tables 2 and 3).
    assert found["overlap", "positive"] == pytest.approx(0.312, abs=0.002)
    assert found["overlap", "others"] == pytest.approx(0.214, abs=0.002)
    assert found["negation", "negative"] == pytest.approx(0.323, abs=0.002)
    assert found["negation", "others"] == pytest.approx(0.102, abs=0.002)
