"""Checks of single texts: empty texts, and texts that several train rows share. `repeats` finds repeats of whole
inputs.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import separate_questions
from aflite_assets.diagnostics.record_tables import split_masks, text_codes

SHOWN_ROWS = 10


@dataclass(frozen=True)
class EmptyTexts:
    """Rows of one split with an empty text in one column; `row_ids` are the first few row ids, in row order."""

    column: str
    split: str
    rows: int
    row_ids: tuple[int, ...]


def empty_texts(examples: Examples) -> tuple[EmptyTexts, ...]:
    """Return, per text column and split, the rows with a text that is empty or only white space.

    Preference data may have no prompts, so a column in which every prompt is empty is left out.
    """
    empty_columns = []
    for column in [name for name in ("text", "text_pair") if name in examples.table.column_names]:
        empty = _is_empty(examples.table[column])
        if column == "text" and empty.all() and separate_questions(examples) is not None:
            continue
        for split, inside in split_masks(examples.table):
            row_ids = examples.row_ids[empty & inside]
            if len(row_ids):
                empty_columns.append(EmptyTexts(column, split, len(row_ids), tuple(row_ids[:SHOWN_ROWS].tolist())))
    return tuple(empty_columns)


def _is_empty(texts: pa.ChunkedArray) -> np.ndarray:
    """Return a bool per row, True if the row's text is empty; False for a row without a text."""
    empty: np.ndarray = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(texts), ""), False).to_numpy()
    return empty


@dataclass(frozen=True)
class SharedText:
    """Number of train rows that share the text in one column with another train row.

    `rows`: number of train rows that share a text. `share`: `rows` divided by the number of all train rows.
    `ungrouped_rows` and `ungrouped_share` count only rows that share the text with a row of another group. Without
    groups, `ungrouped_rows` and `ungrouped_share` count all rows that share a text. `texts`: number of different texts
    in the column. `example`: the most frequent text (untrusted: escape it), which occurs in `example_rows` rows.
    """

    column: Literal["text", "text_pair"]
    rows: int
    share: float
    ungrouped_rows: int
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
        ungrouped_rows,
        ungrouped_rows / max(len(train), 1),
        texts=int((counts > 0).sum()),
        example=train.table[column][int(np.argmax(codes == most))].as_py() if given.any() else "",
        example_rows=int(counts[most]),
    )


def _groups_of(codes: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return, for each text, the number of groups in which the text occurs."""
    numbers, inverse = np.unique(groups, return_inverse=True)
    return np.bincount(np.unique(codes * len(numbers) + inverse) // max(len(numbers), 1), minlength=1)
