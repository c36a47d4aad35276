"""How a table is declared over tidy tables, and the one function that lays it out. What draws it is in `page`."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.reports.tables.table import NOTHING, Column, Heading, Row, Table, TableCell, ruled

_Record = TypeVar("_Record")
_Key = TypeVar("_Key")
_Head = str | Heading | Column
_Rows = tuple[str, ...] | Callable[[DatasetFacts, _Record], tuple[str, ...]]
_RowKey = tuple[bool, tuple[str, ...], Hashable]
"""Whether a row stands apart, the texts before it, and what tells it from others with these."""


def _always(_facts: DatasetFacts, _one: object) -> bool:
    return True


@dataclass(frozen=True)
class Cells(Generic[_Record]):
    """Some places of a table: which records of a tidy table stand there, in which row and column, and in what words.

    Every function gets the dataset's facts and a record. `rows`: the fields, or the texts, before the row; `column`:
    the column or its heading, equal for records below each other, or several columns that the record stands in;
    `value`: the cell of the first record of a place, or, if `merged`, of all of them. `order`, `row_order`: what
    columns, and rows, are sorted by; without them they stand in the order of the records. `row_key` tells rows apart
    whose texts are cut. `apart`: the rows stand below the others.
    """

    source: TidyTable[_Record]
    rows: _Rows[_Record]
    column: _Head | Callable[[DatasetFacts, _Record], _Head | list[Column]]
    value: Callable[..., TableCell]
    where: Callable[[DatasetFacts, _Record], bool] = _always
    merged: bool = False
    order: Callable[[DatasetFacts, _Record], Any] | None = None
    row_order: Callable[[DatasetFacts, _Record], Any] | None = None
    row_key: Callable[[_Record], Hashable] = lambda one: None
    apart: bool = False


def columns(
    source: TidyTable[_Record],
    rows: _Rows[_Record],
    values: Mapping[_Head | Callable[[DatasetFacts, _Record], _Head], Callable[[DatasetFacts, _Record], TableCell]],
    **shared: Any,
) -> tuple[Cells[_Record], ...]:
    """A block per column and its value, all with these rows and the other fields that they share."""
    return tuple(Cells(source, rows, column, value, **shared) for column, value in values.items())


@dataclass(frozen=True)
class TableSpec:
    """A table over tidy tables, or one for each combination of values of the fields `each`.

    If `each` is a function, it gives for a record the values that name each of the tables that it stands in. `name`,
    `of` and `title` are filled with the fields of a table's first record and these values, as in "{evaluator},
    zero-shot". `caption` and `notes` may be functions of the facts and the table's records, and so is `when`, whether
    the table is shown. The other fields: as in `Table`.
    """

    name: str
    of: str
    title: str
    headings: tuple[str, ...]
    cells: tuple[Cells[Any], ...]
    each: tuple[str, ...] | Callable[[DatasetFacts, Any], Iterable[Mapping[str, object]]] = ()
    caption: str | Callable[[DatasetFacts, Sequence[Any]], str] = ""
    notes: Callable[[DatasetFacts, Sequence[Any]], tuple[str, ...]] | None = None
    when: Callable[[DatasetFacts, Sequence[Any]], bool] = _always

    def tables(self, analysis: Analysis) -> tuple[Table, ...]:
        """The tables in the order of their first records; none without a record."""
        facts, found = analysis.facts, dict[tuple[tuple[str, object], ...], list[_Placed]]()
        for block in self.cells:
            for one in analysis.of(block.source):
                if block.where(facts, one):
                    for names in self._names(facts, one):
                        found.setdefault(tuple(names.items()), []).extend(_placed(block, one, facts))
        return tuple(
            self._table(facts, dict(names), placed)
            for names, placed in found.items()
            if self.when(facts, [each.one for each in placed])
        )

    def _names(self, facts: DatasetFacts, one: Any) -> Iterable[Mapping[str, object]]:
        return self.each(facts, one) if callable(self.each) else ({name: getattr(one, name) for name in self.each},)

    def _table(self, facts: DatasetFacts, names: Mapping[str, object], placed: "Sequence[_Placed]") -> Table:
        records = [each.one for each in placed]
        columns = _ordered(facts, ((each.column, each.block.order, each.one) for each in placed))
        rows = _ordered(facts, ((each.row, each.block.row_order, each.one) for each in placed))
        places: dict[tuple[_RowKey, Column], list[_Placed]] = {}
        for each in placed:
            places.setdefault((each.row, each.column), []).append(each)
        return Table(
            *(text.format_map({**vars(records[0]), **names}) for text in (self.name, self.of, self.title)),
            headings=self.headings,
            columns=ruled(columns),
            rows=tuple(
                Row(row[1], tuple(_cell(facts, places.get((row, column), ())) for column in columns), row[0])
                for row in sorted(rows, key=lambda row: row[0])
            ),
            caption=self.caption if isinstance(self.caption, str) else self.caption(facts, records),
            notes=() if self.notes is None else self.notes(facts, records),
        )


@dataclass(frozen=True, eq=False)
class _Placed:
    """A record in a row and column where its block puts it."""

    block: Cells[Any]
    one: Any
    row: _RowKey
    column: Column


def _placed(block: Cells[Any], one: Any, facts: DatasetFacts) -> Iterator[_Placed]:
    texts = block.rows(facts, one) if callable(block.rows) else tuple(getattr(one, name) for name in block.rows)
    found = block.column(facts, one) if callable(block.column) else block.column
    for column in found if isinstance(found, list) else [found]:
        heading = Heading(column) if isinstance(column, str) else column
        as_column = Column(heading) if isinstance(heading, Heading) else heading
        yield _Placed(block, one, (block.apart, texts, block.row_key(one)), as_column)


def _cell(facts: DatasetFacts, there: Sequence[_Placed]) -> TableCell:
    if not there:
        return NOTHING
    block, records = there[0].block, [each.one for each in there]
    return block.value(facts, *(records if block.merged else records[:1]))


def _ordered(
    facts: DatasetFacts, found: Iterable[tuple[_Key, Callable[[DatasetFacts, Any], Any] | None, object]]
) -> list[_Key]:
    """Each once: those without an order as they came, then the others by the order of their first record."""
    firsts: dict[_Key, Any] = {}
    for key, order, one in found:
        if key not in firsts:
            firsts[key] = (0,) if order is None else (1, order(facts, one))
    return sorted(firsts, key=firsts.__getitem__)
