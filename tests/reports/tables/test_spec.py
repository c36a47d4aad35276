"""How declared tables are laid out: rows, columns, several tables, what stands where, and what is left out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from aflite_assets.analysis.analysis import Analysis, analyse
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.reports.tables.table import NOTHING, Cells, Column, Heading, Table, TableCell, TableSpec
from aflite_assets.text import short
from tests.planted_reports import shown_values


@dataclass(frozen=True)
class Record:
    group: str
    row: str
    column: str
    value: float


@dataclass(frozen=True)
class Total:
    group: str
    value: float


RECORDS, TOTALS = TidyTable("made_up", Record), TidyTable("made_up_totals", Total)
GIVEN = (
    Record("a", "second", "x", 1.0),
    Record("a", "first", "x", 2.0),
    Record("a", "first", "y", 3.0),
    Record("b", "first", "y", 4.0),
)


@pytest.fixture
def analysis_of(planted: BenchmarkData) -> Callable[..., Analysis]:
    """An analysis of these records, with the facts of the planted benchmark."""

    def make(*records: Record, totals: tuple[Total, ...] = ()) -> Analysis:
        return replace(analyse(planted), tables={RECORDS.name: records, TOTALS.name: totals})

    return make


def cells(**changes: Any) -> Cells[Record]:
    given: dict[str, Any] = {
        "column": lambda facts, one: one.column,
        "value": lambda facts, one: TableCell(str(one.value), value=one.value),
    }
    return Cells(RECORDS, **(given | changes))


def totals(**changes: Any) -> Cells[Total]:
    given: dict[str, Any] = {
        "column": "total",
        "value": lambda facts, one: TableCell(str(one.value), value=one.value),
    }
    return Cells(TOTALS, **(given | changes))


def _row(facts: DatasetFacts, one: Any) -> str:
    return getattr(one, "row", "all")


def spec(*blocks: Cells[Any], **changes: Any) -> TableSpec:
    given: dict[str, Any] = {"name": "made", "of": "", "title": "Made", "headings": {"row": _row}, "cells": blocks}
    return TableSpec(**(given | changes))


def rows_of(table: Table) -> list[tuple[str, ...]]:
    return [row.headings for row in table.rows]


def columns_of(table: Table) -> list[str]:
    return [column.plain for column in table.columns]


def test_rows_and_columns_stand_as_their_records_come(analysis_of: Callable[..., Analysis]) -> None:
    (table,) = spec(cells()).tables(analysis_of(*GIVEN[:3]))
    assert (rows_of(table), columns_of(table)) == ([("second",), ("first",)], ["x", "y"])
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["1.0", NOTHING.text], ["2.0", "3.0"]]


def test_rows_and_columns_are_sorted_where_an_order_is_given(analysis_of: Callable[..., Analysis]) -> None:
    ordered = cells(order=lambda facts, one: -ord(one.column))
    (table,) = spec(ordered, row_order=lambda facts, one: one.row).tables(analysis_of(*GIVEN[:3]))
    assert (rows_of(table), columns_of(table)) == ([("first",), ("second",)], ["y", "x"])
    assert [[cell.value for cell in row.cells] for row in table.rows] == [[3, 2], [None, 1]]


def test_columns_without_an_order_stand_before_those_with_one(analysis_of: Callable[..., Analysis]) -> None:
    blocks = cells(order=lambda facts, one: one.column), totals()
    (table,) = spec(*blocks).tables(analysis_of(*GIVEN[:3], totals=(Total("a", 6.0),)))
    assert columns_of(table) == ["total", "x", "y"]


def test_rows_apart_stand_below_and_are_marked(analysis_of: Callable[..., Analysis]) -> None:
    blocks = totals(apart=("all of {group}",)), cells()
    (table,) = spec(*blocks).tables(analysis_of(*GIVEN[:3], totals=(Total("a", 6.0),)))
    assert [(row.headings[0], row.apart) for row in table.rows] == [
        ("second", False), ("first", False), ("all of a", True),
    ]  # fmt: skip
    same_text = totals(apart=("first",))
    (table,) = spec(cells(), same_text).tables(analysis_of(*GIVEN[:3], totals=(Total("a", 6.0),)))
    assert [(row.headings[0], row.apart) for row in table.rows][1:] == [("first", False), ("first", True)]


def test_records_that_are_not_meant_are_left_out(analysis_of: Callable[..., Analysis]) -> None:
    (table,) = spec(cells(where=lambda facts, one: one.column == "x")).tables(analysis_of(*GIVEN))
    assert shown_values(table) == {("second",): [1], ("first",): [2]}


def test_there_is_a_table_for_each_value_of_fields(analysis_of: Callable[..., Analysis]) -> None:
    declared = spec(cells(), totals(), name="made_{group}", of="{group}", title="Of {group}")
    found = declared.tables(analysis_of(*GIVEN, totals=(Total("b", 4.0), Total("a", 6.0))))
    assert [(one.name, one.of, one.title) for one in found] == [("made_a", "a", "Of a"), ("made_b", "b", "Of b")]
    assert shown_values(found[1]) == {("first",): [4, NOTHING.text], ("all",): [NOTHING.text, 4]}


def test_a_record_stands_in_several_tables(analysis_of: Callable[..., Analysis]) -> None:
    declared = spec(
        cells(),
        each=lambda facts, one: [{"key": one.column}, {"key": "both"}],
        of="{key} in {group}",
        notes=lambda facts, records: tuple(one.column for one in records),
    )
    found = declared.tables(analysis_of(*GIVEN[:3]))
    assert [(one.of, "".join(one.notes)) for one in found] == [("x in a", "xx"), ("both in a", "xxy"), ("y in a", "y")]


def test_a_record_stands_in_several_columns(analysis_of: Callable[..., Analysis]) -> None:
    both = cells(column=lambda facts, one: [Column(Heading(one.column)), Column(Heading("any"))])
    (table,) = spec(both).tables(analysis_of(GIVEN[0], GIVEN[2]))
    assert columns_of(table) == ["x", "any", "y"]
    assert shown_values(table) == {("second",): [1, 1, NOTHING.text], ("first",): [NOTHING.text, 3, 3]}


def test_records_of_one_place_are_merged_or_the_first_is_shown(analysis_of: Callable[..., Analysis]) -> None:
    one_row = {"headings": {"row": "all"}}
    (first,) = spec(cells(), **one_row).tables(analysis_of(*GIVEN[:3]))
    assert shown_values(first) == {("all",): [1, 3]}
    summed = cells(merged=True, value=lambda facts, *several: TableCell("", value=sum(one.value for one in several)))
    (merged,) = spec(summed, **one_row).tables(analysis_of(*GIVEN[:3]))
    assert [cell.value for cell in merged.rows[0].cells] == [3, 3]


def test_cut_texts_that_look_alike_stay_two_rows_and_two_columns(analysis_of: Callable[..., Analysis]) -> None:
    long = "W" * 99
    records = tuple(
        Record("a", f"{long}{row}", f"{long}{column}", value)
        for row, column, value in (("1", "1", 1.0), ("1", "2", 2.0), ("2", "1", 3.0), ("2", "2", 4.0))
    )
    cut = {"headings": {"row": lambda facts, one: short(one.row)}}
    told_apart = cells(column=lambda facts, one: Column(Heading(short(one.column)), key=one.column))
    (table,) = spec(told_apart, **cut, row_key=lambda one: one.row).tables(analysis_of(*records))
    assert len(set(rows_of(table))) == len(set(columns_of(table))) == 1
    assert [[cell.value for cell in row.cells] for row in table.rows] == [[1, 2], [3, 4]]
    (mixed,) = spec(cells(column=lambda facts, one: Column(Heading(short(one.column)))), **cut).tables(
        analysis_of(*records)
    )
    assert [[cell.value for cell in row.cells] for row in mixed.rows] == [[1]]


def test_a_row_has_the_cells_of_several_blocks(analysis_of: Callable[..., Analysis]) -> None:
    headings = {"row": lambda facts, one: getattr(one, "row", "first")}
    (table,) = spec(cells(), totals(), headings=headings).tables(analysis_of(*GIVEN[:3], totals=(Total("a", 6.0),)))
    assert shown_values(table)["first",] == [2, 3, 6]


def test_no_record_is_no_table(analysis_of: Callable[..., Analysis]) -> None:
    declared = spec(cells(), totals())
    assert declared.tables(analysis_of()) == ()
    assert declared.tables(replace(analysis_of(), tables={})) == ()
    assert spec(cells(where=lambda facts, one: False)).tables(analysis_of(*GIVEN)) == ()
    assert spec(cells(), each=lambda facts, one: ()).tables(analysis_of(*GIVEN)) == ()


def test_a_table_is_shown_where_its_records_say_so(analysis_of: Callable[..., Analysis]) -> None:
    many = spec(cells(), of="{group}", when=lambda facts, records: len(records) > 1)
    assert [one.of for one in many.tables(analysis_of(*GIVEN))] == ["a"]


def test_notes_are_filled_or_functions_of_the_facts_and_the_records(analysis_of: Callable[..., Analysis]) -> None:
    declared = spec(cells(), notes=lambda facts, records: (facts.name, *(one.row for one in records)))
    (table,) = declared.tables(analysis_of(*GIVEN[:2]))
    assert table.notes == ("toy_nli", "second", "first")
    (plain,) = spec(cells(), caption="Read it.").tables(analysis_of(*GIVEN))
    assert (plain.caption, plain.notes) == ("Read it.", ())
    (filled, _) = spec(cells(), of="{group}", notes="Of {group}.").tables(analysis_of(*GIVEN))
    assert filled.notes == ("Of a.",)


def test_a_line_stands_where_a_shared_heading_begins(analysis_of: Callable[..., Analysis]) -> None:
    grouped = cells(column=lambda facts, one: Column(Heading(one.column), Heading(one.row)))
    totalled, records = (totals(), grouped), {"totals": (Total("a", 6.0),)}
    (ruled,), (plain,) = (spec(*each).tables(analysis_of(*GIVEN[:3], **records)) for each in (totalled, [cells()]))
    assert columns_of(ruled) == ["total", "second, x", "first, x", "first, y"]
    assert [column.line for column in ruled.columns] == [False, True, True, False]
    assert [column.line for column in plain.columns] == [False, False]


def test_columns_are_texts_headings_or_columns(analysis_of: Callable[..., Analysis]) -> None:
    blocks = (
        cells(column="value"),
        cells(column=Heading("twice", ("the value",)), value=lambda facts, one: TableCell("", value=2 * one.value)),
        cells(
            column=lambda facts, one: Column(Heading(f"of {one.group}")),
            value=lambda facts, one: TableCell(one.row, kind="text"),
        ),
    )
    (table,) = spec(*blocks, where=lambda facts, one: one.column == "x").tables(analysis_of(*GIVEN[:3]))
    assert [(column.plain, table.kind(column)) for column in table.columns] == [
        ("value", "number"), ("twice (the value)", "number"), ("of a", "text"),
    ]  # fmt: skip
    assert [[cell.value for cell in row.cells] for row in table.rows] == [[1, 2, None], [2, 4, None]]


def test_texts_are_filled_with_the_fields_of_the_record(analysis_of: Callable[..., Analysis]) -> None:
    column = Column(Heading("in {column}", ("of {group}",)), Heading("group {group}"))
    (table,) = spec(cells(column=column), headings={"row": "{row} of {group}"}).tables(analysis_of(*GIVEN[:3]))
    assert rows_of(table) == [("second of a",), ("first of a",)]
    assert columns_of(table) == ["group a, in x (of a)", "group a, in y (of a)"]


def test_hostile_text_in_a_name_is_no_format(analysis_of: Callable[..., Analysis]) -> None:
    hostile = "{group} {0} {x!r}"
    (table,) = spec(cells(column="{row}"), of="{row}", headings={"row": "{row}"}).tables(
        analysis_of(Record("a", hostile, "x", 1.0))
    )
    assert (table.of, rows_of(table), columns_of(table)) == (hostile, [(hostile,)], [hostile])
