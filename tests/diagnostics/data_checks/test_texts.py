from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.data_checks.context import CheckContext, SourceFacts
from aflite_assets.diagnostics.data_checks.input_checks import no_nul_or_huge_cells
from aflite_assets.diagnostics.data_checks.texts import (
    HUGE_BYTES,
    OddCells,
    SharedText,
    empty_texts,
    odd_cells,
    shared_texts,
)

Data = Callable[..., CheckContext]


def test_only_the_first_rows_are_named(make_examples: Callable[..., Examples]) -> None:
    (found,) = empty_texts(make_examples(["train"] * 30, [0] * 30, text=[""] * 30))
    assert (found.rows, found.row_ids) == (30, tuple(range(100, 110)))


@pytest.mark.parametrize("texts", [[], ["a"], [None], ["\x00"]])
def test_texts_that_are_not_empty(make_examples: Callable[..., Examples], texts: list[str | None]) -> None:
    assert empty_texts(make_examples(["train"] * len(texts), [0] * len(texts), text=texts)) == ()


@pytest.fixture
def train(make_examples: Callable[..., Examples]) -> Callable[..., Examples]:
    return lambda text, **columns: make_examples(["train"] * len(text), [0] * len(text), text=text, **columns)


def test_a_premise_shared_by_rows_is_found(train: Callable[..., Examples]) -> None:
    examples = train(["p", "p", "p", "q", "q", "r"], text_pair=["a", "b", "c", "d", "e", "a"])
    assert shared_texts(examples) == (
        SharedText("text", 5, 5 / 6, 5 / 6, texts=3, example="p", example_rows=3),
        SharedText("text_pair", 2, 2 / 6, 2 / 6, texts=5, example="a", example_rows=2),
    )


def test_what_groups_keep_together_is_told_apart(train: Callable[..., Examples]) -> None:
    examples = train(["p", "p", "q", "q", "r", "r"], group=np.array([4, 4, 5, 9, 5, 5]))
    (found,) = shared_texts(examples)
    assert (found.rows, found.ungrouped_share) == (6, 2 / 6)


def test_rows_without_a_text_share_none(train: Callable[..., Examples]) -> None:
    assert shared_texts(train(["p", "q", "r"], text_pair=[None] * 3)) == ()
    (found,) = shared_texts(train([None, "p", None, "p"], group=np.array([1, 2, 3, 4])))
    assert (found.rows, found.share, found.ungrouped_share, found.texts, found.example) == (2, 0.5, 0.5, 1, "p")


@pytest.mark.parametrize("texts", [[], ["one"], ["one", "two"]])
def test_nothing_shared(
    train: Callable[..., Examples], make_examples: Callable[..., Examples], texts: list[str]
) -> None:
    assert shared_texts(train(texts)) == ()
    assert shared_texts(make_examples(["train"] * 2, [0, 1], features=np.zeros((2, 3)))) == ()


@given(rows=st.lists(st.tuples(st.sampled_from(["a", "b", "", None]), st.integers(0, 2)), max_size=10))
def test_shared_texts_are_those_found_one_by_one(rows: list[tuple[str | None, int]]) -> None:
    texts, groups = [row[0] for row in rows], [row[1] for row in rows]
    table = pa.table(
        {"row_id": range(len(rows)), "text": pa.array(texts, pa.string()), "group": pa.array(groups, pa.int64())}
    )
    found = shared_texts(Examples(table, ("no", "yes")))
    sharing = [text for text in texts if text is not None and texts.count(text) > 1]
    assert sum(one.rows for one in found) == len(sharing)
    across = [row for row in rows if row[0] is not None and any(row[0] == o[0] and row[1] != o[1] for o in rows)]
    assert sum(one.ungrouped_share * len(rows) for one in found) == pytest.approx(len(across))


def test_preferences_without_a_prompt_have_no_empty_texts() -> None:
    columns = {"row_id": [0, 1], "split": ["train"] * 2, "label": [0, 1], "text": ["", ""], "text_pair": ["a", "b"]}
    pairs = Examples(pa.table(columns | {"group": [0, 0], "question": [0, 0]}), ("right", "wrong"))
    assert empty_texts(pairs) == ()
    plain = Examples(pa.table(columns), ("right", "wrong"))
    assert [(one.column, one.rows) for one in empty_texts(plain)] == [("text", 2)]


def test_nul_bytes_are_named_with_their_rows(data: Data) -> None:
    texts = ["plain", "a\0b", "x\0", "\\0 0", ""]
    attribute = pa.array(["", None, "\0", "b", "c"], pa.string())
    context = data(["train"] * 5, [0, 1, 0, 1, 0], text=texts, **{"attribute.genre": attribute})
    assert odd_cells(context.examples, lambda texts: pc.match_substring(texts, "\0")) == (
        OddCells("text", 2, (101, 102), largest=3),
        OddCells("attribute.genre", 1, (102,), largest=1),
    )
    source = SourceFacts(lambda row_ids: [f"a.csv, line {row - 98}" for row in row_ids], column_names={"text": "words"})
    outcome = no_nul_or_huge_cells(replace(context, source=source))
    assert not outcome.passed
    assert outcome.found == (
        "2 cells of 'words' contain a NUL byte: a.csv, lines 3, 4. 1 cell of 'genre' contains a NUL byte: a.csv, line 4"
    )
    assert outcome.what_to_do == "remove the NUL bytes in the source; the file is damaged or has another encoding"
    assert outcome.numbers == {
        "nul": 3, "huge": 0, "text.nul_row_ids": "101, 102", "attribute.genre.nul_row_ids": "102",
    }  # fmt: skip


def test_cells_of_two_megabytes_are_named_with_their_size(data: Data) -> None:
    texts = ["a" * (HUGE_BYTES - 1), "\u00e9" * (HUGE_BYTES // 2), "b" * 3_000_000]
    context = data(["train"] * 3, [0, 1, 0], text=["x"] * 3, text_pair=texts)
    outcome = no_nul_or_huge_cells(context)
    assert outcome.found == "2 cells of 'text_pair' have 2 MB or more (the largest: 3.0 MB): row ids 101, 102"
    assert outcome.what_to_do.startswith("check these rows: in a csv file, an unclosed quote joins many rows")
    assert outcome.numbers["huge"] == 2


def test_plain_cells_pass(data: Data) -> None:
    outcome = no_nul_or_huge_cells(data(["train", "test"], [0, 1], text=["a", ""]))
    assert (outcome.passed, outcome.numbers, outcome.found) == (True, {"nul": 0, "huge": 0}, "no such text was found")
