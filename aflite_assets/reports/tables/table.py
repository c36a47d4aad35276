"""The record of one table of the report, with its cells, columns and rows. How it is drawn is in `page`."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from aflite_assets.errors import InvalidInputError
from aflite_assets.text import DASH


@dataclass(frozen=True)
class TableCell:
    """One place of a table, in words.

    `text` is read first, then `small`. `value`: what it is sorted by; None if it is no number. `kind`: a missing result
    says why there is none. `strong` and `shaded` single it out on the page.
    """

    text: str
    small: tuple[str, ...] = ()
    value: float | None = None
    kind: Literal["number", "text", "missing"] = "number"
    strong: bool = False
    shaded: bool = False

    @property
    def plain(self) -> str:
        """All of it on one line."""
        return ", ".join((self.text, *self.small))


NOTHING = TableCell(DASH)
"""The cell where nothing applies."""


@dataclass(frozen=True)
class Heading:
    """A heading and the lines under it."""

    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """One column: its heading, with the `group` heading that it shares with its neighbours; `line`: a line on its left.

    `key` tells columns apart whose headings are cut to the same text.
    """

    heading: Heading
    group: Heading | None = None
    line: bool = False
    kind: Literal["number", "text"] = "number"
    key: Hashable = None

    @property
    def plain(self) -> str:
        """All headings on one line: "test, full (n = 200)"."""
        shared = self.group or Heading("")
        name = ", ".join(filter(None, (shared.text, self.heading.text)))
        notes = ", ".join((*self.heading.notes, *shared.notes))
        return f"{name} ({notes})" if notes else name


@dataclass(frozen=True)
class Row:
    """One row: a text per heading of the table's rows, then a cell per column; `apart`: it stands below the results."""

    headings: tuple[str, ...]
    cells: tuple[TableCell, ...]
    apart: bool = False


@dataclass(frozen=True)
class Table:
    """One table of the report.

    `name` says what kind of table it is, and of which representation; `of` which one of that name, in a few words.
    `title` and `caption` (how its places are read) stand on the page; `notes`, which must be known beside the numbers,
    everywhere. `headings`: what the texts before each row are; all but the last are shared by rows below each other.
    Without columns the notes say why there is nothing. `style`: with many columns the page breaks "narrow" headings,
    with long texts "free" cells.

    Raises:
        InvalidInputError: a row has not a cell for each column, or not a text for each heading.
    """

    name: str
    of: str
    title: str
    headings: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    style: Literal["narrow", "free"] = "narrow"

    def __post_init__(self) -> None:
        for row in self.rows:
            if (len(row.headings), len(row.cells)) != (len(self.headings), len(self.columns)):
                raise InvalidInputError(
                    f"table {self.name!r} {self.of!r}: row {row.headings} has {len(row.cells)} cells; give it texts "
                    f"for {self.headings} and a cell for each of the {len(self.columns)} columns"
                )

    @property
    def bodies(self) -> list[tuple[tuple[str, ...], list[Row]]]:
        """Rows below each other that share all headings but the last, with these."""
        by_group = groupby(self.rows, lambda row: (row.headings[:-1], row.apart))
        return [(shared, list(rows)) for (shared, _), rows in by_group]

    @property
    def head(self) -> list[tuple[Heading | None, list[Column]]]:
        """Columns beside each other that share a heading, with it; each column without one by itself."""
        by_group = groupby(enumerate(self.columns), lambda one: one[1].group or one[0])
        found = [[column for _, column in columns] for _, columns in by_group]
        return [(columns[0].group, columns) for columns in found]


def ruled(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns, with a line where a shared heading begins."""
    befores = [None, *(column.group for column in columns[:-1])]
    return tuple(
        replace(one, line=one.line or one.group != before) for one, before in zip(columns, befores, strict=True)
    )
