"""The papers' own figures as tables, to stand beside a dataset's."""

from collections.abc import Iterator

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.reports.papers.published_tables import published_tables
from aflite_assets.reports.papers.record import Form, PublishedTable
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot
from aflite_assets.text import DASH, count, signed_points


def paper_tables(analysis: Analysis) -> tuple[Table, ...]:
    """Each under its source and caption, with its note; their own order, which is that of `published_tables`."""
    return tuple(map(paper_table, published_tables(analysis.facts.published)))


def paper_records(published: str | None) -> Iterator[dict[str, str | float | None]]:
    """A record per printed value: source, caption, note, row, column, value and its deviation over seeds."""
    for table in published_tables(published):
        where = {"source": table.source, "caption": table.caption, "note": table.note}
        for number, (name, values) in enumerate(table.rows):
            for column, value in enumerate(values):
                spread = None if table.deviations is None else table.deviations[number][column]
                place = {"row": name, "column": table.columns[column]}
                yield {**where, **place, "value": value, "deviation": spread}


def paper_table(table: PublishedTable) -> Table:
    """Values as printed there, with the deviation over seeds where there is one."""

    def cell(row: int, column: int) -> TableCell:
        value, spread = table.rows[row][1][column], None if table.deviations is None else table.deviations[row][column]
        text = DASH if value is None else _text(value, table.form(column), table.decimals)
        return TableCell(text if spread is None else f"{text} ±{spread:.1f}", value=value)

    return Table(
        "published",
        f"{table.source}: {table.caption}",
        f"From the paper: {table.source}",
        ("row",),
        tuple(Column(Heading(name)) for name in table.columns),
        pivot(range(len(table.rows)), lambda row: (table.rows[row][0],), range(len(table.columns)), cell),
        f"{table.caption}.",
        (table.note,) if table.note else (),
    )


def _text(value: float, form: Form, decimals: int) -> str:
    if form == "rows":
        return count(int(value))
    return f"{value:.2f}" if form == "index" else signed_points(value, decimals=decimals)
