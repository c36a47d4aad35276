"""The record of one table of the report, and classes that declare how tidy tables of an analysis become tables of the
report.

The package `page` renders the tables.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any, Generic, Literal, TypeVar

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.text import DASH

Values = Mapping[str, object]
"""Values for placeholders in texts such as "accuracy on {split}"."""


@dataclass(frozen=True)
class TableCell:
    """One cell of a table, as text.

    `text`: the main text. `small`: lines of smaller text below the main text. `value`: the number by which the cell is
    sorted, or None. `kind`: the kind of content, or "missing" for the reason why there is no result. `strong` and
    `shaded` highlight the cell on the page.
    """

    text: str
    small: tuple[str, ...] = ()
    value: float | None = None
    kind: Literal["number", "text", "missing"] = "number"
    strong: bool = False
    shaded: bool = False

    @property
    def plain(self) -> str:
        """The text of the whole cell on one line."""
        return ", ".join((self.text, *self.small))


NOTHING = TableCell(DASH)
"""The cell used if nothing applies."""


@dataclass(frozen=True)
class Heading:
    """A heading, and smaller lines of text below the heading."""

    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """One column of a table.

    `group`: a heading that the column shares with neighbouring columns. `line`: whether the column has a line on its
    left. `key`: a value that distinguishes columns whose headings were cut to the same text.
    """

    heading: Heading
    group: Heading | None = None
    line: bool = False
    key: Hashable = None

    @property
    def plain(self) -> str:
        """The headings of the column on one line, such as "test, full (n = 200)"."""
        shared = self.group or Heading("")
        name = ", ".join(filter(None, (shared.text, self.heading.text)))
        notes = ", ".join((*self.heading.notes, *shared.notes))
        return f"{name} ({notes})" if notes else name


@dataclass(frozen=True)
class Row:
    """One row of a table: one text per row heading, then one cell per column.

    `apart`: whether the row is in a separate block below the results. `rows_at`: HTML id of the page element that shows
    dataset rows for this table row, or "".
    """

    headings: tuple[str, ...]
    cells: tuple[TableCell, ...]
    apart: bool = False
    rows_at: str = ""


@dataclass(frozen=True)
class Table:
    """One table of the report.

    `name`: the table's kind and representation. `of`: a text that distinguishes tables with the same name. `caption`:
    how to read the cells, shown only on the page. `notes`: remarks that are needed to understand the numbers, shown
    wherever the table is shown. `headings`: the column headings above the row headings. Consecutive rows may share all
    row headings except the last. `style`: "free" if the page may wrap the text in cells, "narrow" if it wraps only
    headings. `source`: the tidy table with all unrounded numbers, or "" if there is no such table.
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
        """Return "text" if all cells of the column are texts, else "number"."""
        place = self.columns.index(column)
        return "text" if self.rows and all(row.cells[place].kind == "text" for row in self.rows) else "number"

    @property
    def bodies(self) -> list[tuple[tuple[str, ...], list[Row]]]:
        """Blocks of consecutive rows that share all row headings except the last.

        Each block consists of the shared row headings and the rows.
        """
        by_group = groupby(self.rows, lambda row: (row.headings[:-1], row.apart))
        return [(shared, list(rows)) for (shared, _), rows in by_group]

    @property
    def head(self) -> list[tuple[Heading | None, list[Column]]]:
        """Blocks of consecutive columns with the same group heading. A column without a group heading is a block of its
        own.
        """
        by_group = groupby(enumerate(self.columns), lambda one: one[1].group or one[0])
        found = [[column for _, column in columns] for _, columns in by_group]
        return [(columns[0].group, columns) for columns in found]


_Record = TypeVar("_Record")
_Key = TypeVar("_Key")
_Head = str | Heading | Column
_Order = Callable[[DatasetFacts, Any], Any] | None
_RowKey = tuple[bool, tuple[str, ...], Hashable]
"""Key of a row: whether it is apart, the texts before it, and a value that distinguishes it from other rows with these
texts.
"""


def always(_facts: DatasetFacts, _one: object) -> bool:
    """Return True, as the condition of tables that are always shown."""
    return True


def having(**fields: object) -> Callable[[DatasetFacts, object], bool]:
    """Return a function that tests whether a record has the given field values."""
    return lambda facts, one: all(getattr(one, name) == value for name, value in fields.items())


@dataclass(frozen=True)
class Cells(Generic[_Record]):
    """A declaration of the cells that a table makes from one tidy table.

    All fields that are functions take the dataset's facts and a record. `column`: the column of a record, or a function
    that returns one or several columns. A column's heading may have placeholders, as the `title` of a `TableSpec`.
    `value`: a function that returns a cell. The argument of `value` is the first record of the cell or, with `merged`,
    all records of the cell. `order`: a function that returns the sort key of a column. Columns without a sort key come
    first, in the order of their first records. `apart`: row headings of a separate row below the other rows, or empty
    without a separate row.
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
    """A declaration of one or several tables that are made from tidy tables.

    The records of each combination of `name` and `of` become one table.

    `headings`: maps the heading of each column of row headings to the text for a row. The text is a function, or has
    placeholders for fields of a record, as in "{evaluator}, zero-shot". `name` and `of` may have the same placeholders.
    Placeholders in `title` and `notes` are filled in from the table's first record. `each`: a function that returns
    further placeholder values, one mapping for each table that contains the record. `where`: a function that selects
    the records of the tables. `row_order`: a function that returns the sort key of a row. Without `row_order`, rows are
    in the order of the records. `row_key`: a function that returns a value to distinguish rows whose texts were cut to
    the same text. `notes` may also be a function of the facts and the table's records. `when`: a function of the facts
    and the records that returns whether the table is shown.
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
        """Return the tables in the order of their first records. A table without records is left out."""
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
            # a line on the left of the first column of each group
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
    """A record with its row and column, and the `values` of placeholders in texts."""

    block: Cells[Any]
    one: Any
    values: Values
    row: _RowKey
    column: Column


def _as_column(head: _Head, values: Values | None = None) -> Column:
    """Return a column with the heading `head`.

    `values`: values for placeholders in the heading, or None for a heading without placeholders.
    """
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
    """Return the distinct columns (or rows) in the order in which the table shows them.

    Columns or rows without a sort key come first, in their given order.
    """
    firsts: dict[_Key, Any] = {}
    for key, order, one in found:
        if key not in firsts:
            firsts[key] = (0,) if order is None else (1, order(facts, one))
    return sorted(firsts, key=firsts.__getitem__)


def declared(*specs: TableSpec) -> Callable[[Analysis], tuple[Table, ...]]:
    """Return a function that makes the tables declared by several specs.

    Tables with the same name follow each other.
    """
    return lambda analysis: tuple(chain.from_iterable(by_name(spec.tables(analysis) for spec in specs).values()))


def by_name(tables: Iterable[tuple[Table, ...]]) -> dict[str, tuple[Table, ...]]:
    """Return tables by name; tables with the same name follow each other."""
    found: dict[str, tuple[Table, ...]] = {}
    for table in chain.from_iterable(tables):
        found[table.name] = (*found.get(table.name, ()), table)
    return found
