"""Cosine similarity of pairs of rows in the filter's features, among the kept and among the removed rows of a class."""

import numpy as np
import pyarrow as pa

from aflite_assets.diagnostics.evidence.neighbours import ROWS_AT_ONCE, unit_vectors
from aflite_assets.diagnostics.record_tables import check_lengths, table_of

MOST_CLASSES = 4
"""Largest number of compared classes; the classes with the most rows on their smaller side come first."""

SHOWN_ROWS = 12
"""Number of rows per side whose similarities are returned pair by pair, for a figure in the report."""

MOST_ROWS = 10_000
"""Largest number of rows per side of a class; for more rows, the mean is computed over a sample."""

SCHEMA = pa.schema(
    [
        ("label", pa.int64()),
        ("side", pa.string()),
        ("rows", pa.int64()),
        ("used_rows", pa.int64()),
        ("mean_similarity", pa.float64()),
        ("row_ids", pa.list_(pa.int64())),
        ("similarities", pa.list_(pa.list_(pa.float32()))),
    ]
)
"""Columns of `class_similarities`."""


def class_similarities(
    features: np.ndarray,
    labels: np.ndarray,
    row_ids: np.ndarray,
    *,
    in_train: np.ndarray,
    kept: np.ndarray,
    seed: int,
    most_classes: int = MOST_CLASSES,
    shown_rows: int = SHOWN_ROWS,
    most_rows: int = MOST_ROWS,
) -> pa.Table:
    """Compute pairwise cosine similarities among the kept rows, the removed rows and random rows of each class.

    Figure 1 of Le Bras et al., ICML 2020, shows pairwise cosine similarities for some images of two classes. The paper
    contains neither means over all pairs nor random rows. The side "random" has as many rows of the class as were kept,
    drawn from all rows of the class. The side "random" shows what the similarity would be if rows were removed at
    random.

    Args:
        features: rows x width, float32, finite; a memory map is read in blocks.
        labels: class numbers, int64, one per row.
        row_ids: id of each row, int64.
        in_train: bool per row, True for train rows; only train rows are used.
        kept: bool per row, True if filtering kept the row.
        seed: seed of the samples; the samples of a class depend only on the seed and the class.
        most_classes: largest number of compared classes. Only classes with at least two kept and two removed rows are
            compared. Classes are ordered by the number of rows on their smaller side (largest first), then by their
            size, then by the class number.
        shown_rows: number of rows per side whose similarities are returned pair by pair, drawn at random.
        most_rows: see `MOST_ROWS`.

    Returns:
        A table with three rows per class, for the sides "kept", "removed" and "random". The columns are `label`,
        `side`, `rows`, `used_rows`, `mean_similarity`, `row_ids` and `similarities`. `rows` is the number of the
        class's rows on the side, and `used_rows` is the number of rows used for the mean. `mean_similarity`, in [-1,
        1], is the mean over all pairs of different rows. `row_ids` are the shown rows, and `similarities` are their
        similarities (shown rows x shown rows, float32). A row of zeros has similarity 0 to every row, including itself,
        as in scikit-learn.

    Raises:
        InvalidInputError: the arguments have different lengths, or a feature is not finite.
    """
    check_lengths(features=features, labels=labels, row_ids=row_ids, in_train=in_train, kept=kept)
    records = []
    for label in _classes(labels[in_train], kept[in_train])[:most_classes]:
        members = np.flatnonzero(in_train & (labels == label))
        rng = np.random.default_rng([seed, label])
        kept_rows, removed_rows = members[kept[members]], members[~kept[members]]
        random_rows = rng.choice(members, len(kept_rows), replace=False)
        for side, rows in (("kept", kept_rows), ("removed", removed_rows), ("random", random_rows)):
            used = rng.permutation(rows)[:most_rows]
            shown = used[:shown_rows]
            matrix = cosine_similarities(features, shown).astype(np.float32)
            mean = mean_similarity(features, used)
            records.append((label, side, len(rows), len(used), mean, row_ids[shown].tolist(), matrix.tolist()))
    return table_of(records, SCHEMA)


def cosine_similarities(features: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the cosine similarities of all pairs of the rows at `positions`: rows x rows, float64 in [-1, 1].

    The similarity with a row of zeros is 0.
    """
    units = unit_vectors(features, positions)
    return np.clip(units @ units.T, -1, 1)


def mean_similarity(features: np.ndarray, positions: np.ndarray) -> float:
    """Return the exact mean cosine similarity over all pairs of two different rows; at least two rows are required.

    The sum over all pairs follows from the squared length of the sum of the normalised rows, so no matrix of pairs is
    needed.
    """
    total, own = np.zeros(features.shape[1]), 0.0
    ordered = np.sort(positions)
    for start in range(0, len(ordered), ROWS_AT_ONCE):
        units = unit_vectors(features, ordered[start : start + ROWS_AT_ONCE])
        total += units.sum(axis=0)
        own += float((units**2).sum())
    return float(np.clip((total @ total - own) / (len(ordered) * (len(ordered) - 1)), -1, 1))


def _classes(labels: np.ndarray, kept: np.ndarray) -> list[int]:
    classes = int(labels.max(initial=-1)) + 1
    totals, stayed = np.bincount(labels, minlength=classes), np.bincount(labels[kept], minlength=classes)
    smaller = np.minimum(stayed, totals - stayed)
    comparable = np.flatnonzero(smaller >= 2).tolist()
    return sorted(comparable, key=lambda label: (-smaller[label], -totals[label], label))
