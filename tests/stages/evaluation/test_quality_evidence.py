"""What the tables of quality terms say of a set that keeps its words, and where there is nothing to say."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import EvidenceTable
from aflite_assets.data.examples import Examples
from aflite_assets.studies.sample.stages.evidence import quality_tables
from tests.filtered_rows import filtered

ROWS, OWN = 300, 60


def raw_of(classes: int = 2, /, **columns: Any) -> Examples:
    """`ROWS` train rows, of which the first `OWN` have a word of their own, then 20 test rows with other words."""
    texts = [f"every row has these words{f' own{row}' if row < OWN else ''}" for row in range(ROWS)]
    table = {
        "row_id": pa.array(range(ROWS + 20), pa.int64()),
        "split": ["train"] * ROWS + ["test"] * 20,
        "label": pa.array(np.arange(ROWS + 20) % classes, pa.int64()),
        **(columns or {"text": texts + ["words of test rows"] * 20}),
    }
    return Examples(pa.table(table), tuple(f"class {label}" for label in range(classes)))


def tables(raw: Examples, kept: np.ndarray, **settings: Any) -> list[EvidenceTable]:
    return list(quality_tables(filtered(raw, kept, **settings), raw, seed=0))


def with_words(raw: Examples) -> np.ndarray:
    """The 60 train rows with words of their own, and every test row."""
    row_ids = raw.row_ids
    return np.asarray((row_ids < OWN) | (row_ids >= ROWS))


def test_rows_that_keep_the_words_stand_over_all_random_ones() -> None:
    raw = raw_of()
    overall, by_class = tables(raw, with_words(raw))
    assert (overall.title, by_class.title) == ("Quality terms (net)", "Quality terms by class (net)")
    rows = {(row["component"], row["items"], row["term"]): row for row in overall.table.to_pylist()}
    first = rows["c1", "words", "t1"]
    # 5 words of every row and 60 of single ones; test rows are no part of it
    assert (first["before"], first["kept"], first["beside_random"]) == (65 / 300, 65 / 60, "over all")
    assert rows["vocabulary", "words", "vanished"]["kept"] == 0
    assert overall.caption.startswith(
        f"t1 is 0.2167 before, 1.083 of the 60 kept rows, and {first['random_least']:.4g} to "
        f"{first['random_most']:.4g} (mean {first['random_mean']:.4g}) of as many random ones."
    )
    assert "compare kept with the 10 random sets of its size" in overall.caption
    assert "c3, c4, c5 and c7 with similarities are not implemented" in overall.caption
    assert by_class.table.column_names[0] == "label_name"
    assert [row["label_name"] for row in by_class.table.to_pylist()] == ["class 0"] * 2 + ["class 1"] * 2
    assert "label_name" not in overall.table.column_names


def test_groups_are_mentioned_where_they_left_whole() -> None:
    raw = raw_of()
    said = "Rows are removed in whole groups but drawn one by one"
    assert said in tables(raw, with_words(raw), remove="groups")[0].caption
    assert said not in tables(raw, with_words(raw), remove="rows")[0].caption


def test_many_classes_have_no_table_of_their_own() -> None:
    raw = raw_of(26)
    assert [one.title for one in tables(raw, with_words(raw))] == ["Quality terms (net)"]


def test_no_train_row_kept() -> None:
    raw = raw_of()
    overall, _ = tables(raw, raw.row_ids >= ROWS)
    assert overall.caption.startswith("No train row was kept; t1 is 0.2167 before.")
    assert all(row["beside_random"] is None for row in overall.table.to_pylist() if row["component"] == "c1")


def test_rows_without_texts_have_no_terms() -> None:
    raw = raw_of(2, **{"feature.0": np.zeros(ROWS + 20)})
    assert tables(raw, with_words(raw)) == []


@pytest.mark.parametrize("split", ["train", "test"])
def test_no_train_row_is_no_table(split: str) -> None:
    raw = raw_of()
    table = raw.table.set_column(1, "split", pa.array([split] * len(raw)))
    same = Examples(table, raw.label_names)
    assert bool(tables(same, with_words(same))) == (split == "train")
