"""The nearest kept row of another class for each removed row.

A comparison of the two rows may show why the removed row was easy.
"""

import numpy as np
import pyarrow as pa

from aflite_assets.diagnostics.evidence.neighbours import unit_rows
from aflite_assets.diagnostics.record_tables import check_lengths, draw_sample
from aflite_assets.errors import InvalidInputError

MOST_ROWS = 50_000
"""Largest number of train rows with an exhaustive search; with more rows, only a sample of `SAMPLE` removed rows is
used.
"""

SAMPLE = 2_000

MEMORY_LIMIT = 2**30
"""Bytes that the computation may use."""

NEAREST = pa.schema([("row_id", pa.int64()), ("nearest_kept", pa.int64()), ("similarity", pa.float32())])
"""Columns of `nearest_kept`."""


def nearest_kept(
    features: np.ndarray,
    labels: np.ndarray,
    row_ids: np.ndarray,
    *,
    kept: np.ndarray,
    removed: np.ndarray,
    seed: int,
    most_rows: int = MOST_ROWS,
    sample: int = SAMPLE,
    memory_limit: int = MEMORY_LIMIT,
) -> pa.Table:
    """Return, for each removed row, the kept row of another class with the highest cosine similarity of the features.

    The search is exact.

    Args:
        features: rows x width float32, finite; a memory map is read in blocks.
        labels: class numbers, int64, one per row; `row_ids` are the rows' ids.
        kept: bool per row, True for the rows among which the nearest row is searched.
        removed: bool per row, True for the rows that get a nearest row; no row may be both kept and removed.
        seed: seed of the sample of removed rows.
        most_rows: largest total number of kept and removed rows for which all removed rows are used; above it, the
            removed rows are sampled.
        sample: number of removed rows in the sample.
        memory_limit: bytes for the whole computation, apart from the pages of `features`.

    Returns:
        A table with the columns `row_id`, `nearest_kept` (a row id) and `similarity` (the cosine, in [-1, 1]), in the
        order of `row_ids`. `nearest_kept` and `similarity` are null if no row of another class was kept. If several
        rows are equally similar, the first of them is chosen. A row of zeros has similarity 0 with every row.

    Raises:
        InvalidInputError: the arguments have different lengths, a row is both kept and removed, or a feature is not
            finite.
    """
    check_lengths(features=features, labels=labels, row_ids=row_ids, kept=kept, removed=removed)
    if (kept & removed).any():
        raise InvalidInputError(
            f"row {row_ids[(kept & removed).argmax()]} is both in `kept` and in `removed`; put the row into one of them"
        )
    asked, choice = np.flatnonzero(removed), np.flatnonzero(kept)
    if len(asked) + len(choice) > most_rows:
        asked = draw_sample(asked, sample, np.random.default_rng(seed))
    nearest, similarity = _nearest(features, labels, asked, choice, memory_limit)
    none = nearest < 0
    columns = (
        pa.array(row_ids[asked], pa.int64()),
        pa.array(row_ids[nearest], pa.int64(), mask=none),
        pa.array(np.clip(similarity, -1, 1), pa.float32(), mask=none),
    )
    return pa.table(list(columns), NEAREST)


def _nearest(
    features: np.ndarray, labels: np.ndarray, asked: np.ndarray, choice: np.ndarray, memory_limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each row in `asked`, the nearest row of another class in `choice`, and their cosine (float32).

    Rows are given by their positions; the position is -1 if no row in `choice` has another class.
    """
    width = features.shape[1]
    # Removed rows, kept rows, similarities and a mask each get a quarter of the memory.
    rows_at_once = max(memory_limit // 4 // (4 * width), 1)
    nearest, similarity = np.full(len(asked), -1), np.full(len(asked), -np.inf, np.float32)
    for first in range(0, len(choice), rows_at_once):
        chosen = choice[first : first + rows_at_once]
        units = unit_rows(features, chosen)
        asked_at_once = min(rows_at_once, max(memory_limit // 4 // (4 * len(chosen)), 1))
        for start in range(0, len(asked), asked_at_once):
            inside = slice(start, start + asked_at_once)
            found = unit_rows(features, asked[inside]) @ units.T
            found[labels[asked[inside], None] == labels[chosen]] = -np.inf
            best = found.argmax(axis=1)
            value = found[np.arange(len(best)), best]
            nearer = value > similarity[inside]
            nearest[inside][nearer] = chosen[best[nearer]]
            similarity[inside][nearer] = value[nearer]
    return nearest, similarity
