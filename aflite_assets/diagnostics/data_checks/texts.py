"""Cells that are probably mistakes (empty, with a NUL byte, or huge), and texts that several train rows share.

`repeats` finds repeats of whole inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import separate_questions
from aflite_assets.diagnostics.record_tables import first_rows, split_masks, text_codes

HUGE_BYTES = 2_000_000
"""Smallest size of a huge cell in bytes, which is longer than most books and than the input of any model."""


@dataclass(frozen=True)
class OddCells:
    """Cells of one column that are probably mistakes.

    `row_ids`: ids of the first few rows with an odd cell. `split`: the split of the cells, or "" for all splits.
    `largest`: size in bytes of the largest odd cell; 0 for empty cells.
    """

    column: str
    rows: int
    row_ids: tuple[int, ...]
    split: str = ""
    largest: int = 0


def odd_cells(examples: Examples, is_odd: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> tuple[OddCells, ...]:
    """Return the columns of texts, ids and attributes with cells for which `is_odd` returns True."""
    found = []
    for column in examples.table.column_names:
        if column in ("text", "text_pair", "source_id") or column.startswith("attribute."):
            texts = examples.table[column]
            rows = np.flatnonzero(pc.fill_null(is_odd(texts), False).to_numpy())
            if len(rows):
                largest = pc.max(pc.binary_length(texts.take(pa.array(rows)))).as_py()
                found.append(OddCells(column, len(rows), first_rows(examples.row_ids[rows]), largest=largest))
    return tuple(found)


def empty_texts(examples: Examples) -> tuple[OddCells, ...]:
    """Return, per text column and split, the rows with a text that is empty or only white space.

    Preference data may have no prompts, so a column in which every prompt is empty is left out.
    """
    empty_columns = []
    for column in [name for name in ("text", "text_pair") if name in examples.table.column_names]:
        empty = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(examples.table[column]), ""), False).to_numpy()
        if column == "text" and empty.all() and separate_questions(examples) is not None:
            continue
        for split, inside in split_masks(examples.table):
            row_ids = examples.row_ids[empty & inside]
            if len(row_ids):
                empty_columns.append(OddCells(column, len(row_ids), first_rows(row_ids), split))
    return tuple(empty_columns)


@dataclass(frozen=True)
class SharedText:
    """Number of train rows that share the text in one column with another train row.

    `rows`: number of train rows that share a text. `share`: `rows` divided by the number of all train rows.
    `ungrouped_share` counts only rows that share the text with a row of another group. Without groups,
    `ungrouped_share` counts all rows that share a text. `texts`: number of different texts
    in the column. `example`: the most frequent text (untrusted: escape it), which occurs in `example_rows` rows.
    """

    column: Literal["text", "text_pair"]
    rows: int
    share: float
    ungrouped_share: float
    texts: int
    example: str
    example_rows: int


def shared_texts(train: Examples) -> tuple[SharedText, ...]:
    """Return the text columns in which train rows share a text; the column with most such rows comes first.

    Rows that share a premise belong in one group. Without groups, a random partition may use one row of a premise for
    training and hold out another row of the premise. Rows without a text are ignored.
    """
    columns: tuple[Literal["text", "text_pair"], ...] = ("text", "text_pair")
    shared = [_shared_text(train, column) for column in columns if column in train.table.column_names]
    return tuple(sorted((each for each in shared if each.rows), key=lambda each: -each.rows))


def _shared_text(train: Examples, column: Literal["text", "text_pair"]) -> SharedText:
    codes = text_codes(train.table[column])
    given = codes >= 0
    counts = np.bincount(codes[given], minlength=1)
    ungrouped = counts if train.groups is None else _groups_of(codes[given], train.groups[given])
    rows, ungrouped_rows = (int(counts[several > 1].sum()) for several in (counts, ungrouped))
    most = int(counts.argmax())
    return SharedText(
        column,
        rows,
        rows / max(len(train), 1),
        ungrouped_rows / max(len(train), 1),
        texts=int((counts > 0).sum()),
        example=train.table[column][int(np.argmax(codes == most))].as_py() if given.any() else "",
        example_rows=int(counts[most]),
    )


def _groups_of(codes: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return, for each text, the number of groups in which the text occurs."""
    numbers, inverse = np.unique(groups, return_inverse=True)
    return np.bincount(np.unique(codes * len(numbers) + inverse) // max(len(numbers), 1), minlength=1)
