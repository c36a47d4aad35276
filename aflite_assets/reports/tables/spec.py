"""How a table is declared over tidy tables, and the one function that lays it out. What draws it is in `page`."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.reports.tables.table import NOTHING, Column, Row, Table, TableCell, ruled

_Record = TypeVar("_Record")
_Key = TypeVar("_Key")
_Text = str | Callable[[DatasetFacts, Sequence[Any]], str]
_RowKey = tuple[bool, tuple[str, ...], Hashable]
"""Whether a row stands apart, the texts before it, and what tells it from others with these."""


def _always(_facts: DatasetFacts, _one: object) -> bool:
    return True


@dataclass(frozen=True)
class Cells(Generic[_Record]):
    """Some places of a table: which records of a tidy table stand there, in which row and column, and in what words.

    Every function gets the dataset's facts and a record. `rows`: the texts before the row; `column`: the column, equal
    for records below each other, or several that it stands in; `value`: the cell. `merged`: the cell of several records
    that share a place, where the first does not do. `order`, `row_order`: what columns, and rows, are sorted by;
    without them they stand in the order of the records. `row_key` tells rows apart whose texts are cut. `apart`: the
    rows stand below the others.
    """

    source: TidyTable[_Record]
    rows: Callable[[DatasetFacts, _Record], tuple[str, ...]]
    column: Callable[[DatasetFacts, _Record], Column | Sequence[Column]]
    value: Callable[[DatasetFacts, _Record], TableCell]
    where: Callable[[DatasetFacts, _Record], bool] = _always
    merged: Callable[[Sequence[_Record]], TableCell] | None = None
    order: Callable[[DatasetFacts, _Record], Any] | None = None
    row_order: Callable[[DatasetFacts, _Record], Any] | None = None
    row_key: Callable[[_Record], Hashable] = lambda one: None
    apart: bool = False


@dataclass(frozen=True)
class TableSpec:
    """A table over tidy tables, or one for each combination of values of the fields `each`.

    Where `each` is a function it gives the keys of the tables that a record stands in. `name`, `of` and `title` are
    filled with the fields of a table's first record, as in "{evaluator}, zero-shot". All texts but the name may be
    functions of the facts and the table's records instead, and so is `when`: whether the table is shown. `ruled`: with
    a line where a shared heading begins. The other fields: as in `Table`.
    """

    name: str
    of: _Text
    title: _Text
    headings: tuple[str, ...]
    cells: tuple[Cells[Any], ...]
    each: tuple[str, ...] | Callable[[DatasetFacts, Any], Iterable[tuple[object, ...]]] = ()
    caption: str | Callable[[DatasetFacts, Sequence[Any]], str] = ""
    notes: Callable[[DatasetFacts, Sequence[Any]], tuple[str, ...]] | None = None
    when: Callable[[DatasetFacts, Sequence[Any]], bool] | None = None
    style: Literal["narrow", "free"] = "narrow"
    ruled: bool = True

    def tables(self, analysis: Analysis) -> tuple[Table, ...]:
        """The tables in the order of their first records; none without a record."""
        facts = analysis.facts
        found: dict[tuple[Any, ...], list[_Placed]] = {}
        for block in self.cells:
            for one in analysis.of(block.source):
                if block.where(facts, one):
                    for key in self._keys(facts, one):
                        found.setdefault(key, []).extend(_placed(block, one, facts))
        return tuple(self._table(facts, each) for each in found.values() if self._is_shown(facts, each))

    def _keys(self, facts: DatasetFacts, one: Any) -> Iterable[tuple[object, ...]]:
        if callable(self.each):
            return self.each(facts, one)
        return (tuple(getattr(one, name) for name in self.each),)

    def _is_shown(self, facts: DatasetFacts, placed: "Sequence[_Placed]") -> bool:
        return self.when is None or self.when(facts, [each.one for each in placed])

    def _table(self, facts: DatasetFacts, placed: "Sequence[_Placed]") -> Table:
        records = [each.one for each in placed]
        columns = _ordered((each.column, each.block.order, each) for each in placed)
        rows = _ordered((each.row, each.block.row_order, each) for each in placed)
        places: dict[tuple[_RowKey, Column], list[_Placed]] = {}
        for each in placed:
            places.setdefault((each.row, each.column), []).append(each)
        name, of, title = (_filled(text, facts, records) for text in (self.name, self.of, self.title))
        return Table(
            name,
            of,
            title,
            headings=self.headings,
            columns=ruled(columns) if self.ruled else tuple(columns),
            rows=tuple(
                Row(row[1], tuple(_cell(places.get((row, column), ())) for column in columns), row[0])
                for row in sorted(rows, key=lambda row: row[0])
            ),
            caption=self.caption if isinstance(self.caption, str) else self.caption(facts, records),
            notes=() if self.notes is None else self.notes(facts, records),
            style=self.style,
        )


@dataclass(frozen=True, eq=False)
class _Placed:
    """A record in a row and column where its block puts it."""

    block: Cells[Any]
    one: Any
    facts: DatasetFacts
    row: _RowKey
    column: Column


def _placed(block: Cells[Any], one: Any, facts: DatasetFacts) -> Iterator[_Placed]:
    columns, row = block.column(facts, one), (block.apart, block.rows(facts, one), block.row_key(one))
    for column in (columns,) if isinstance(columns, Column) else columns:
        yield _Placed(block, one, facts, row, column)


def _filled(text: _Text, facts: DatasetFacts, records: Sequence[Any]) -> str:
    return text.format_map(vars(records[0])) if isinstance(text, str) else text(facts, records)


def _cell(there: Sequence[_Placed]) -> TableCell:
    if not there:
        return NOTHING
    first = there[0]
    if first.block.merged is not None:
        return first.block.merged([each.one for each in there])
    return first.block.value(first.facts, first.one)


def _ordered(found: Iterable[tuple[_Key, Callable[[DatasetFacts, Any], Any] | None, _Placed]]) -> list[_Key]:
    """Each once: those without an order as they came, then the others by the order of their first record."""
    firsts: dict[_Key, Any] = {}
    for key, order, placed in found:
        if key not in firsts:
            firsts[key] = (0,) if order is None else (1, order(placed.facts, placed.one))
    return sorted(firsts, key=firsts.__getitem__)
