"""A progress bar for a run on a terminal. Callers that show progress themselves pass `on_iteration` instead."""

from collections.abc import Iterable

from tqdm import tqdm

from aflite_assets.algorithm.records import IterationRecord
from aflite_assets.algorithm.state import FilterState


class ProgressBar:
    """Rows removed of the `removable` ones, as far as the target counts them. A context manager.

    Shows nothing where standard error is no terminal.
    """

    def __init__(self, removable: int, records: Iterable[IterationRecord]) -> None:
        """`records`: iterations made before, in a run that is resumed."""
        self._bar = tqdm(total=removable, unit=" rows", desc="AFLite", disable=None, delay=1.0)
        self._bar.update(sum(record.counted_removed for record in records))

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def advance(self, record: IterationRecord, state: FilterState) -> None:
        """Count one iteration's rows; fits `on_iteration`."""
        self._bar.set_postfix(iteration=record.iteration, bias=f"{record.representation_bias:.3f}")
        self._bar.update(record.counted_removed)
