"""What filtering removed of a shortcut that was planted."""

from dataclasses import dataclass

from aflite_assets.analysis.tidy import TidyTable


@dataclass(frozen=True)
class PlantedRemoval:
    """Train rows that entered the filter, those whose `attribute` has one of `values`, and what was removed of both.

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
        """Share of planted rows among those removed."""
        return self.removed_planted_rows / self.removed_rows if self.removed_rows else None

    @property
    def precision_by_chance(self) -> float | None:
        """Share of planted rows among all, as rows removed at random would have."""
        return self.planted_rows / self.rows if self.rows else None

    @property
    def recall(self) -> float | None:
        """Share of removed rows among those planted."""
        return self.removed_planted_rows / self.planted_rows if self.planted_rows else None

    @property
    def recall_by_chance(self) -> float | None:
        """Share of removed rows among all."""
        return self.removed_rows / self.rows if self.rows else None


PLANTED = TidyTable(
    "planted", PlantedRemoval, derived=("precision", "precision_by_chance", "recall", "recall_by_chance")
)
