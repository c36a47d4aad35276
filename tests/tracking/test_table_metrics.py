"""A table's numbers by name: which columns name a row, hostile texts, tables too large for a metric each."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlflow.utils import validation

from aflite_assets.tracking import table_metrics, table_name
from aflite_assets.tracking.mlflow_values import digest_of
from aflite_assets.tracking.table_metrics import MOST_METRICS


def test_every_number_has_a_name_made_of_table_row_and_column() -> None:
    table = pa.table(
        {
            "set": ["full", "random", "random"],
            "representation": [None, "net", "other"],
            "rows": [10, 4, 5],
            "accuracy": [0.5, 0.25, None],
            "kept": [True, False, True],
        }
    )
    assert table_metrics("A simple model", table) == {
        "a_simple_model/full.none.rows": 10.0,
        "a_simple_model/random.net.rows": 4.0,
        "a_simple_model/random.other.rows": 5.0,
        "a_simple_model/full.none.accuracy": 0.5,
        "a_simple_model/random.net.accuracy": 0.25,
    }


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        # Texts that tell rows apart, then whole numbers only as far as they are needed.
        ({"when": ["before", "before"], "k": [1, 5], "n": [7, 8], "x": [0.5, 0.5]}, ["before.1", "before.5"]),
        ({"row_id": [4, 9], "text": ["a", "b"], "x": [0.5, 0.5]}, ["4", "9"]),
        ({"first": ["a"], "second": ["b"], "x": [0.5]}, ["a.b"]),
        ({"kept": [True, False], "x": [0.5, 0.5]}, ["True", "False"]),
        # Nothing but a measurement tells these apart, and that is no name.
        ({"name": ["a", "a"], "x": [0.25, 0.5]}, ["a.0", "a.1"]),
        ({"x": [0.25, 0.5]}, ["0", "1"]),
    ],
)
def test_what_names_a_row(columns: dict[str, list[Any]], names: list[str]) -> None:
    found = table_metrics("t", pa.table(columns))
    assert [name for name in found if name.endswith(".x")] == [f"t/{name}.x" for name in names]


def test_numbers_that_do_not_exist_are_left_out() -> None:
    table = pa.table({"name": ["a", "b", "c", "d"], "x": [float("nan"), float("inf"), None, 1.0]})
    assert table_metrics("t", table) == {"t/d.x": 1.0}
    assert table_metrics("t", table.slice(0, 0)) == {}
    assert table_metrics("t", pa.table({})) == {}


def test_null_and_the_text_none_are_two_rows() -> None:
    found = table_metrics("t", pa.table({"name": [None, "none"], "x": [1, 2]}))
    assert found == {"t/none.x": 1.0, f"t/none_{digest_of('none')[:8]}.x": 2.0}


@given(st.lists(st.one_of(st.none(), st.text(max_size=300)), unique=True, max_size=8), st.text(max_size=300))
def test_hostile_texts_give_names_that_mlflow_takes(words: list[str | None], title: str) -> None:
    words = [None if word is None else word.encode("utf-8", "replace").decode("utf-8") for word in words]
    if len(set(words)) < len(words):
        return
    numbers = list(range(len(words)))
    table = pa.table({"label": ["<b>"] * len(words), "word": pa.array(words, pa.string()), "z score/%": numbers})
    found = table_metrics(title, table)
    assert sorted(found.values()) == numbers
    for name in found:
        validation._validate_metric(name, 1.0, 0, 0)
        assert len(name) <= 250
        assert name.startswith(f"{table_name(title)}/_b__{digest_of('<b>')[:8]}.")
        assert name.endswith(f".z score___{digest_of('z score/%')[:8]}")


def test_a_large_table_has_summaries_instead() -> None:
    rows = MOST_METRICS + 1
    table = pa.table(
        {"name": [f"w{row}" for row in range(rows)], "x": [*range(rows - 1), None], "y": [float("nan")] * rows}
    )
    assert table_metrics("Words", table) == {
        "words/over rows.least.x": 0.0,
        "words/over rows.mean.x": (rows - 2) / 2,
        "words/over rows.most.x": rows - 2,
    }
    assert len(table_metrics("Words", table.slice(0, MOST_METRICS).select(["name", "x"]))) == MOST_METRICS


@pytest.mark.parametrize("title", ["Words over the line", "words over the line"])
def test_a_table_is_named_after_its_title(title: str) -> None:
    assert table_name(title) == "words_over_the_line"
