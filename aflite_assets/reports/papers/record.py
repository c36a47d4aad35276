"""The record of one table of a paper; no numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "zero_shot", "fine_tuned", "in_distribution", "top_k", "forgettables", "minorities", "two_phase",
    "forgettables_alone", "by_overlap", "sample_curve", "fine_action", "rankings",
]  # fmt: skip

Form = Literal["per cent", "rows", "index"]
"""What a column's values are: per cent or points, numbers of rows, or an index in [0, 1]."""


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper: `rows` are names with a value per column, None where the paper has none.

    `kind` says which table here shows the same of our models; "fine_tuned" is the transfer table. Values are in per
    cent, or in points, but for columns whose `forms` say otherwise. `deviations`, as values, are over seeds, in points.
    `note`: what to read before comparing. `decimals`: of values in per cent or points, as printed.
    """

    kind: Kind
    source: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    deviations: tuple[tuple[float | None, ...], ...] | None = None
    note: str = ""
    forms: tuple[Form, ...] | None = None
    decimals: int = 1

    def printed(self) -> Iterator[tuple[str, list[tuple[float | None, float | None]]]]:
        """Each row's name, with a pair per column: the value and its deviation, None if the paper has none."""
        for place, (name, values) in enumerate(self.rows):
            deviations = (None,) * len(values) if self.deviations is None else self.deviations[place]
            yield name, list(zip(values, deviations, strict=True))
