"""The papers' own figures as tables, to stand beside a dataset's."""

from collections.abc import Iterator

from aflite_assets.reports.papers.published_tables import PublishedTable, published_tables
from aflite_assets.reports.tables.table import Column, Heading, Row, Table, TableCell


def paper_records(published: str | None) -> Iterator[dict[str, str | float | None]]:
    """A record per printed value: source, caption, note, row, column, value and its deviation over seeds."""
    for table in published_tables(published):
        where = {"source": table.source, "caption": table.caption, "note": table.note}
        for name, cells in table.rows.items():
            for column, one in zip(table.columns, cells, strict=True):
                yield {**where, "row": name, "column": column, "value": one.value, "deviation": one.deviation}


def paper_table(table: PublishedTable) -> Table:
    """Values as printed there, with the deviation over seeds if there is one, under the source and the caption."""
    return Table(
        "published",
        f"{table.source}: {table.caption}",
        f"From the paper: {table.source}",
        ("row",),
        tuple(Column(Heading(name)) for name in table.columns),
        tuple(
            Row((name,), tuple(TableCell(one.text, value=one.value) for one in cells))
            for name, cells in table.rows.items()
        ),
        f"{table.caption}.",
        (table.note,) if table.note else (),
    )
