"""The record of one table of the report, and how tables are declared over tidy tables. What draws them is in `page`."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Generic, Literal, TypeVar

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.text import DASH

Values = Mapping[str, object]
"""Values that texts such as "accuracy on {split}" are filled with."""


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
    """One row: a text per heading of the table's rows, then a cell per column; `apart`: it stands below the results.

    `rows_at`: id of the page's place that shows the rows of the dataset that this row is about; "" if there is none.
    """

    headings: tuple[str, ...]
    cells: tuple[TableCell, ...]
    apart: bool = False
    rows_at: str = ""


@dataclass(frozen=True)
class Table:
    """One table of the report.

    `name`: its kind and representation; `of`: which one of that name. `title` and `caption` (how its places are read)
    stand on the page; `notes`, which must be known beside the numbers, everywhere. `headings`: what the texts before
    each row are; rows below each other share all but the last. `style`: whether the page breaks headings or cells.
    `source`: the tidy table that has the numbers unrounded; "" if none has them all.
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
    source: str = ""

    def kind(self, column: Column) -> Literal["number", "text"]:
        """Return "text" if a column has nothing but texts."""
        place = self.columns.index(column)
        return "text" if self.rows and all(row.cells[place].kind == "text" for row in self.rows) else "number"

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


_Record = TypeVar("_Record")
_Key = TypeVar("_Key")
_Head = str | Heading | Column
_Order = Callable[[DatasetFacts, Any], Any] | None
_RowKey = tuple[bool, tuple[str, ...], Hashable]
"""Whether a row stands apart, the texts before it, and what tells it from others with these."""


def always(_facts: DatasetFacts, _one: object) -> bool:
    """Return True; the condition of what is never left out."""
    return True


def having(**fields: object) -> Callable[[DatasetFacts, object], bool]:
    """Whether fields of a record have these values."""
    return lambda facts, one: all(getattr(one, name) == value for name, value in fields.items())


@dataclass(frozen=True)
class Cells(Generic[_Record]):
    """Some places of a table: which records of a tidy table stand there, in which row and column, and in what words.

    Every function gets the dataset's facts and a record. `column`: the column or its heading, equal for records below
    each other, or several columns; a function, or filled as the spec's `title` is. `value`: the cell of the first
    record of a place, or, if `merged`, of all of them. `order`: what columns are sorted by; those without it come
    first, as the records do. `apart`: the texts before the row, filled likewise, if it stands below the others.
    """

    source: TidyTable[_Record]
    column: _Head | Callable[[DatasetFacts, _Record], _Head | list[Column]]
    value: Callable[..., TableCell]
    where: Callable[[DatasetFacts, _Record], bool] = always
    merged: bool = False
    order: _Order = None
    apart: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableSpec:
    """A table over tidy tables, or several: one for each `name` and `of` that its records give.

    `headings`: the texts before a row by their headings. They are functions, or filled with the fields of a record, as
    in "{evaluator}, zero-shot"; so are `name` and `of` and, with its first record, a table's `title` and `notes`.
    `each` gives further values to fill in, once for each table that a record stands in. `where`: the records that the
    table is about. `row_order`: what rows are sorted by, else as the records are. `row_key` tells rows apart whose
    texts are cut. `notes` may be a function of the facts and the table's records, as `when` is: whether it is shown.
    """

    name: str
    title: str
    headings: Mapping[str, str | Callable[[DatasetFacts, Any], str]]
    cells: tuple[Cells[Any], ...]
    of: str = ""
    each: Callable[[DatasetFacts, Any], Iterable[Values]] = lambda facts, one: ({},)
    where: Callable[[DatasetFacts, Any], bool] = always
    row_order: _Order = None
    row_key: Callable[[Any], Hashable] = lambda one: None
    caption: str = ""
    notes: str | Callable[[DatasetFacts, Sequence[Any]], tuple[str, ...]] = lambda facts, records: ()
    when: Callable[[DatasetFacts, Sequence[Any]], bool] = always

    def tables(self, analysis: Analysis) -> tuple[Table, ...]:
        """Return the tables in the order of their first records; none without a record."""
        facts, found = analysis.facts, dict[tuple[object, ...], list[_Placed]]()
        for block in self.cells:
            for one in analysis.of(block.source):
                if self.where(facts, one) and block.where(facts, one):
                    for names in self.each(facts, one):
                        values = {**vars(one), **names}
                        key = self.name.format_map(values), self.of.format_map(values), *names.items()
                        found.setdefault(key, []).extend(self._placed(facts, block, one, values))
        shown = (placed for placed in found.values() if self.when(facts, [each.one for each in placed]))
        return tuple(self._table(facts, placed) for placed in shown)

    def _placed(self, facts: DatasetFacts, block: Cells[Any], one: Any, values: Values) -> "Iterator[_Placed]":
        said = block.apart or self.headings.values()
        texts = tuple(text(facts, one) if callable(text) else text.format_map(values) for text in said)
        found = block.column(facts, one) if callable(block.column) else _as_column(block.column, values)
        for column in found if isinstance(found, list) else [found]:
            yield _Placed(block, one, values, (bool(block.apart), texts, self.row_key(one)), _as_column(column))

    def _table(self, facts: DatasetFacts, placed: "Sequence[_Placed]") -> Table:
        records, values = [each.one for each in placed], placed[0].values
        columns = _ordered(facts, ((each.column, each.block.order, each.one) for each in placed))
        lasts = (None, *(column.group for column in columns[:-1]))
        rows = _ordered(facts, ((each.row, self.row_order, each.one) for each in placed))
        places: dict[tuple[_RowKey, Column], list[_Placed]] = {}
        for each in placed:
            places.setdefault((each.row, each.column), []).append(each)
        return Table(
            self.name.format_map(values),
            self.of.format_map(values),
            self.title.format_map(values),
            tuple(self.headings),
            # with a line where a shared heading begins
            tuple(replace(one, line=one.line or one.group != last) for one, last in zip(columns, lasts, strict=True)),
            tuple(
                Row(row[1], tuple(_cell(facts, places.get((row, column), ())) for column in columns), row[0])
                for row in sorted(rows, key=lambda row: row[0])
            ),
            self.caption,
            self.notes(facts, records) if callable(self.notes) else (self.notes.format_map(values),),
            source=self.cells[0].source.name,
        )


@dataclass(frozen=True, eq=False)
class _Placed:
    """A record in a row and column where its block puts it, and the `values` that texts are filled with."""

    block: Cells[Any]
    one: Any
    values: Values
    row: _RowKey
    column: Column


def _as_column(head: _Head, values: Values | None = None) -> Column:
    """Return the column of a heading, with values filled in if they are given."""
    heading = Heading(head) if isinstance(head, str) else head
    column = Column(heading) if isinstance(heading, Heading) else heading
    if values is None:
        return column
    return replace(
        column, heading=_filled(column.heading, values), group=column.group and _filled(column.group, values)
    )


def _filled(heading: Heading, values: Values) -> Heading:
    return Heading(heading.text.format_map(values), tuple(note.format_map(values) for note in heading.notes))


def _cell(facts: DatasetFacts, there: Sequence[_Placed]) -> TableCell:
    if not there:
        return NOTHING
    block, records = there[0].block, [each.one for each in there]
    return block.value(facts, *(records if block.merged else records[:1]))


def _ordered(facts: DatasetFacts, found: Iterable[tuple[_Key, _Order, object]]) -> list[_Key]:
    """Each once: those without an order as they came, then the others by the order of their first record."""
    firsts: dict[_Key, Any] = {}
    for key, order, one in found:
        if key not in firsts:
            firsts[key] = (0,) if order is None else (1, order(facts, one))
    return sorted(firsts, key=firsts.__getitem__)
