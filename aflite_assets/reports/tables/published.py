"""The papers' own figures as tables, to stand beside a dataset's."""

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.papers.published_tables import published_tables
from aflite_assets.reports.papers.record import Form, PublishedTable
from aflite_assets.reports.tables.long_form import LongForm
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot
from aflite_assets.text import DASH, count, signed_points


def paper_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Each under its source and caption, with its note; their own order, which is that of `published_tables`."""
    return tuple(map(paper_table, published_tables(data.published)))


def paper_table(table: PublishedTable) -> Table:
    """Values as printed there, with the deviation over seeds where there is one."""

    def cell(row: int, column: int) -> TableCell:
        name, values = table.rows[row]
        value, spread = values[column], None if table.deviations is None else table.deviations[row][column]
        text = DASH if value is None else _text(value, table.form(column), table.decimals)
        where = {"source": table.source, "caption": table.caption, "note": table.note, "row": name}
        return TableCell(
            text if spread is None else f"{text} ±{spread:.1f}",
            value=value,
            form="published",
            record=where | {"column": table.columns[column], "value": value, "deviation": spread},
        )

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


PUBLISHED = LongForm("published", ("source", "caption", "row", "column", "value", "deviation", "note"), paper_tables)
