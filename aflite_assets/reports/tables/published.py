"""The papers' own figures as tables, to stand beside a dataset's."""

from collections.abc import Iterator

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.reports.papers.published_tables import published_tables
from aflite_assets.reports.papers.record import Form, PublishedTable
from aflite_assets.reports.tables.table import Column, Heading, Row, Table, TableCell
from aflite_assets.text import DASH, count, signed_points


def paper_tables(analysis: Analysis) -> tuple[Table, ...]:
    """Each under its source and caption, with its note, in the order of `published_tables`."""
    return tuple(map(paper_table, published_tables(analysis.facts.published)))


def paper_records(published: str | None) -> Iterator[dict[str, str | float | None]]:
    """A record per printed value: source, caption, note, row, column, value and its deviation over seeds."""
    for table in published_tables(published):
        of_table = {"source": table.source, "caption": table.caption, "note": table.note}
        for name, printed in table.printed():
            for column, (value, deviation) in zip(table.columns, printed, strict=True):
                yield {**of_table, "row": name, "column": column, "value": value, "deviation": deviation}


def paper_table(table: PublishedTable) -> Table:
    """Values as printed there, with the deviation over seeds if there is one."""
    forms = table.forms or (None,) * len(table.columns)
    return Table(
        "published",
        f"{table.source}: {table.caption}",
        f"From the paper: {table.source}",
        ("row",),
        tuple(Column(Heading(name)) for name in table.columns),
        tuple(
            Row((name,), tuple(_cell(*pair, form, table.decimals) for pair, form in zip(printed, forms, strict=True)))
            for name, printed in table.printed()
        ),
        f"{table.caption}.",
        (table.note,) if table.note else (),
    )


def _cell(value: float | None, deviation: float | None, form: Form | None, decimals: int) -> TableCell:
    if value is None:
        text = DASH
    elif form == "rows":
        text = count(int(value))
    else:
        text = f"{value:.2f}" if form == "index" else signed_points(value, decimals=decimals)
    return TableCell(text if deviation is None else f"{text} ±{deviation:.1f}", value=value)
