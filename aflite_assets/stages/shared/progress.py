"""How a running stage tells its caller what it is doing."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class IterationReport:
    """One published iteration of the filter, as the UI plots it.

    `rows_in`, `removed`: rows of the pool, of which `train_rows_in`, `train_removed` are train rows. `scored_*`: rows
    that are only scored. `cutoff` is the lowest score removed, None when nothing was removed; the last iteration
    removes nothing.
    """

    representation: str
    iteration: int
    rows_in: int
    train_rows_in: int
    removed: int
    train_removed: int
    scored_rows_in: int
    scored_removed: int
    cutoff: float | None
    representation_bias: float


@dataclass(frozen=True)
class Progress:
    """Where log lines and finished iterations go."""

    log: Callable[[str], None]
    on_iteration: Callable[[IterationReport], None]


def _ignore(_: object) -> None:
    return None


no_progress = Progress(log=_ignore, on_iteration=_ignore)
"""Nothing is reported."""
