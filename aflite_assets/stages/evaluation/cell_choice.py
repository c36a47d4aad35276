"""Which cells of the grid of evaluators to train now. The cells themselves are in `grid`, which loads torch."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aflite_assets.errors import InvalidInputError

if TYPE_CHECKING:
    from aflite_assets.stages.evaluation.grid import GridCell


@dataclass(frozen=True)
class CellFilter:
    """Which cells to train now; an empty field means all. What was trained before is found all the same."""

    evaluators: tuple[str, ...] = ()
    train_sets: tuple[str, ...] = ()
    representations: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()

    def wants(self, cell: "GridCell") -> bool:
        """Whether the cell is to be trained; a train set without a representation is one of all."""
        return (
            (not self.evaluators or cell.evaluator in self.evaluators)
            and (not self.train_sets or cell.train_set.name in self.train_sets)
            and (not self.representations or cell.train_set.representation in (None, *self.representations))
            and (not self.seeds or cell.seed in self.seeds)
        )

    def check(self, grid: "Collection[GridCell]") -> None:
        """Refuse names that the grid lacks.

        Raises:
            InvalidInputError: with the names that it has.
        """
        for field, known in (
            ("evaluators", {cell.evaluator for cell in grid}),
            ("train_sets", {cell.train_set.name for cell in grid}),
            ("representations", {cell.train_set.representation for cell in grid} - {None}),
            ("seeds", {cell.seed for cell in grid}),
        ):
            unknown = [one for one in getattr(self, field) if one not in known]
            if unknown:
                raise InvalidInputError(f"cells.{field} names {unknown}; this grid has {sorted(known, key=str)}")
