"""How a memory limit becomes blocks of rows."""

from collections.abc import Iterator


def row_blocks(n_rows: int, *, row_bytes: int, memory_limit: int) -> Iterator[slice]:
    """Consecutive slices over `n_rows`, each of at most `memory_limit` bytes but of at least one row."""
    step = max(1, memory_limit // row_bytes)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def prediction_row_bytes(width: int, n_classes: int) -> int:
    """Bytes one row takes while it is predicted: its features twice in float64 (as gathered, centred) and three
    float64 rows of classes (decision values, probabilities, probabilities in the dataset's class order).
    """
    return 8 * (2 * width + 3 * n_classes)
