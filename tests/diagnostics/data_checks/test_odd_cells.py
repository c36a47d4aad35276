from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from aflite_assets.diagnostics.data_checks.context import CheckContext, SourceFacts
from aflite_assets.diagnostics.data_checks.input_checks import no_nul_or_huge_cells
from aflite_assets.diagnostics.data_checks.odd_cells import HUGE_BYTES, OddCells, huge_cells, nul_cells

Data = Callable[..., CheckContext]


def test_nul_bytes_are_named_with_their_rows(data: Data) -> None:
    texts = ["plain", "a\0b", "x\0", "\\0 0", ""]
    attribute = pa.array(["", None, "\0", "b", "c"], pa.string())
    context = data(["train"] * 5, [0, 1, 0, 1, 0], text=texts, **{"attribute.genre": attribute})
    assert nul_cells(context.examples) == (
        OddCells("text", 2, (101, 102), 3),
        OddCells("attribute.genre", 1, (102,), 1),
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
    assert huge_cells(context.examples) == (OddCells("text_pair", 2, (101, 102), 3_000_000),)
    outcome = no_nul_or_huge_cells(context)
    assert outcome.found == "2 cells of 'text_pair' have 2 MB or more (the largest: 3.0 MB): row ids 101, 102"
    assert outcome.what_to_do.startswith("check these rows: in a csv file, an unclosed quote joins many rows")
    assert outcome.numbers["huge"] == 2


def test_plain_cells_pass(data: Data) -> None:
    outcome = no_nul_or_huge_cells(data(["train", "test"], [0, 1], text=["a", ""]))
    assert (outcome.passed, outcome.numbers, outcome.found) == (True, {"nul": 0, "huge": 0}, "no such text was found")
