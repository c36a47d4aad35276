"""The tidy table of trainings that were asked for: one per evaluator, train set and seed, with what became of it."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.trained_cells import CellStatus
from aflite_assets.analysis.tidy import TidyTable


@dataclass(frozen=True)
class Training:
    """One evaluator trained on one train set with one seed; `status` and `reason` as in `Cell`.

    `representation`: the filtering that the train set belongs to, or None for full.
    """

    evaluator: str
    train_set: str
    representation: str | None
    seed: int
    train_rows: int
    status: CellStatus
    reason: str | None


TRAININGS = TidyTable("trainings", Training)


def trainings(data: BenchmarkData) -> Iterator[Training]:
    """Yield the trainings of a report in their order; second phases on forgettable rows stand in no such table."""
    names = [field.name for field in fields(Training)]
    for cell in data.cells:
        yield Training(**{name: getattr(cell, name) for name in names})
