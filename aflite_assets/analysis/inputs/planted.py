"""What filtering removed of a shortcut that was planted, as a record and as a sentence."""

from dataclasses import asdict, dataclass
from typing import Any

from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.text import count, listed, one_line, percent
from aflite_assets.wording import truncate


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

    def record(self) -> dict[str, Any]:
        """The counts and then the shares."""
        shares = ("precision", "precision_by_chance", "recall", "recall_by_chance")
        return asdict(self) | {name: getattr(self, name) for name in shares}


PLANTED = TidyTable("planted", PlantedRemoval)


def planted_sentence(removal: PlantedRemoval) -> str:
    """Precision and recall in words, each beside what as many rows drawn at random would have."""
    planted = f"{_short(removal.attribute)} {listed([_short(value) for value in removal.values])}"
    where = f"Of the {count(removal.rows)} train rows that entered filtering with {removal.representation}"
    if removal.recall is None or removal.recall_by_chance is None:
        return f"{where} none was planted with a shortcut ({planted}), so nothing says how well it was found."
    text = f"{where} {count(removal.planted_rows)} were planted with a shortcut ({planted})."
    if removal.precision is None or removal.precision_by_chance is None:
        return f"{text} None of them was removed, nor was any other."
    return (
        f"{text} It removed {count(removal.removed_rows)}: {percent(removal.precision)} % of these were planted "
        f"(precision; by chance {percent(removal.precision_by_chance)} %), and {percent(removal.recall)} % of all "
        f"planted ones were among them (recall; by chance {percent(removal.recall_by_chance)} %)."
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _short(text: str) -> str:
    return truncate(one_line(text), 60)
