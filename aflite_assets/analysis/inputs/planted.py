"""What filtering removed of a shortcut that was planted."""

from dataclasses import dataclass

from aflite_assets.analysis.tidy import TidyTable


@dataclass(frozen=True)
class PlantedRemoval:
    """Train rows that entered the filter, those whose `attribute` has one of `values`, and what went of both.

    The shares are in [0, 1], or None over no rows.
    """

    representation: str
    attribute: str
    values: tuple[str, ...]
    rows: int
    planted_rows: int
    removed_rows: int
    removed_planted_rows: int

    @property
    def precision(self) -> float | None:
        """Planted rows among those removed."""
        return _ratio(self.removed_planted_rows, self.removed_rows)

    @property
    def precision_by_chance(self) -> float | None:
        """Planted rows among all: what rows removed at random would have."""
        return _ratio(self.planted_rows, self.rows)

    @property
    def recall(self) -> float | None:
        """Removed rows among those planted."""
        return _ratio(self.removed_planted_rows, self.planted_rows)

    @property
    def recall_by_chance(self) -> float | None:
        """Removed rows among all."""
        return _ratio(self.removed_rows, self.rows)


PLANTED = TidyTable(
    "planted", PlantedRemoval, derived=("precision", "precision_by_chance", "recall", "recall_by_chance")
)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
